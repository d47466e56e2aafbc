"""A port is shared among the processes of one server, and with nobody else."""

from __future__ import annotations

import socket

import pytest

from gateway.launch.ports import listen


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


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


def test_a_port_can_be_taken_again_at_once(port: int) -> None:
    for _ in range(3):
        with listen("127.0.0.1", port, shared=True) as listening, listening.another() as serving:
            serving.listen()
            with socket.create_connection(("127.0.0.1", port)) as client, serving.accept()[0] as accepted:
                accepted.shutdown(socket.SHUT_RDWR)
                client.recv(1)
