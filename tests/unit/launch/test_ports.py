"""The processes of one server share a port, and no other process can."""

from __future__ import annotations

import os
import socket
from contextlib import nullcontext

import pytest

from gateway.launch import ports
from gateway.launch.ports import listen, loopback
from tests.ports import free_ports


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


@pytest.fixture(autouse=True)
def no_orphans_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "ORPHANS", 0.0)


def test_processes_of_a_server_share_a_port(port: int) -> None:
    with listen("127.0.0.1", port, shared=True) as listening, listening.another() as one, listening.another() as other:
        one.listen()
        other.listen()
        assert listening.port == port == one.getsockname()[1] == other.getsockname()[1]


@pytest.mark.parametrize("shared", [True, False])
def test_a_served_port_is_refused(port: int, shared: bool) -> None:
    with listen("127.0.0.1", port, shared=True) as listening, listening.another() as serving:
        serving.listen()
        with pytest.raises(OSError, match="in use"), listen("127.0.0.1", port, shared=shared):
            pass
        with pytest.raises(OSError, match="in use"), listen("0.0.0.0", port, shared=shared):
            pass


def test_two_servers_that_start_at_once_do_not_share(port: int) -> None:
    with (
        listen("127.0.0.1", port, shared=True),
        pytest.raises(OSError, match="in use"),
        listen("127.0.0.1", port, shared=True),
    ):
        pass


def test_a_port_may_be_shared_by_servers_if_that_is_said(port: int) -> None:
    with (
        listen("127.0.0.1", port, shared=False, permitted=True) as one,
        listen("127.0.0.1", port, shared=False, permitted=True) as other,
    ):
        one.held.listen()
        other.held.listen()
        with pytest.raises(OSError, match="in use"), listen("127.0.0.1", port, shared=False):
            pass


def test_port_0_is_a_free_one() -> None:
    with listen("127.0.0.1", 0, shared=True) as one, listen("127.0.0.1", 0, shared=True) as other:
        assert one.port and other.port and one.port != other.port


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
@pytest.mark.parametrize("shared", [True, False])
def test_any_address_is_of_both_families(port: int, address: str, shared: bool) -> None:
    with (
        listen(address, port, shared) as listening,
        listening.another() if shared else nullcontext(listening.held) as serving,
    ):
        serving.listen()
        for host in ("127.0.0.1", "::1"):
            with socket.create_connection((host, port)) as client, serving.accept()[0] as accepted:
                accepted.sendall(b"x")
                assert client.recv(1) == b"x"
        with pytest.raises(OSError, match="in use"), listen("127.0.0.1", port, shared):
            pass
        with pytest.raises(OSError, match="in use"), listen("::1", port, shared):
            pass


def test_without_ipv6_any_address_is_of_ipv4(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    with listen("0.0.0.0", port, shared=True) as listening, listening.another() as serving:
        assert serving.getsockname() == ("0.0.0.0", port)


def test_a_server_is_reached_from_its_host_by_an_address_that_is_there() -> None:
    assert loopback("0.0.0.0") == "127.0.0.1" and loopback("192.0.2.7") == "192.0.2.7"
    assert loopback("::") == ("::1" if socket.has_dualstack_ipv6() else "127.0.0.1")


def test_a_port_can_be_taken_again_at_once(port: int) -> None:
    for _ in range(3):
        with listen("127.0.0.1", port, shared=True) as listening, listening.another() as serving:
            serving.listen()
            with socket.create_connection(("127.0.0.1", port)) as client, serving.accept()[0] as accepted:
                accepted.shutdown(socket.SHUT_RDWR)
                client.recv(1)


def test_workers_of_a_killed_server_are_waited_for_until_they_listen_no_more(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They still answer requests when the next server has the port."""
    told, tell = os.pipe()
    said, say = os.pipe()
    with listen("127.0.0.1", port, shared=True) as listening:
        if not (worker := os.fork()):
            listening.leave()
            with listening.another() as serving:
                serving.listen()
                os.write(say, b"l")
                os.read(told, 1)
            os.write(say, b"c")
            os.read(told, 1)
            os._exit(0)
        assert os.read(said, 1) == b"l"
    looks = list[float]()

    def look(seconds: float) -> None:
        looks.append(seconds)
        os.write(tell, b".")
        assert os.read(said, 1) == b"c"

    monkeypatch.setattr(ports, "ORPHANS", 60.0)
    monkeypatch.setattr("gateway.launch.ports.time.sleep", look)
    with listen("127.0.0.1", port, shared=True):
        assert looks == [ports.LOOK] and os.waitpid(worker, os.WNOHANG) == (0, 0)
    os.write(tell, b".")
    os.waitpid(worker, 0)


def test_a_port_of_a_stranger_is_not_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.launch.ports.time.sleep", lambda seconds: pytest.fail("it waits"))
    monkeypatch.setattr(ports, "ORPHANS", 60.0)
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(OSError, match="in use"),
        listen("127.0.0.1", port, shared=True),
    ):
        pass
