"""Clients that open very many connections, or keep them open without a use, do not lock out others."""

from __future__ import annotations

import contextlib
import http.client
import json
import resource
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from gateway.http.acceptor import BETWEEN_REPORTS, ConnectionQuota, address_of
from tests.hostile.conftest import answers
from tests.hostile.probe import held_at_most, memory
from tests.hostile.wire import Wire
from tests.integration.server.client import ask
from tests.logged import whole_lines
from tests.until import until

PATIENCE = 1.0  # the server's limits for heads and bodies, in seconds
PART = 400  # bytes: more than the server requires within PATIENCE
MOST = 40  # connections from one address
SOON = 60 * PATIENCE  # seconds in which a connection must be gone
HEAD = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def server_flags() -> tuple[str, ...]:
    return (f"--header-timeout={PATIENCE}s", f"--max-connections-per-address={MOST}", "--log-format=json")


def peers(server: ApiServer) -> list[int]:
    """The client ports of the connections that the server has accepted and not closed."""
    own, found = f":{server.port:04X}", []
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        _, local, remote, *_, inode = line.split()[:10]
        if local.endswith(own) and inode != "0" and (peer := int(remote.rpartition(":")[2], 16)):
            found.append(peer)
    return found


def refusals(server: ApiServer) -> list[dict[str, object]]:
    """The log lines about too many connections."""
    return [
        json.loads(line) for line in whole_lines(server.log_file) if "too many connections from this address" in line
    ]


def opened(server: ApiServer) -> Wire:
    """Opens a TLS connection. Tries again: on a busy machine a handshake may take longer than the server's time
    limit.
    """
    deadline = time.monotonic() + SOON
    while True:
        try:
            return Wire(server)
        except OSError:
            assert time.monotonic() < deadline, "no handshake comes to its end"


def is_closed_soon(connection: socket.socket) -> bool:
    """Whether the server soon closes a plain connection, with or without an answer."""
    deadline = time.monotonic() + SOON
    while select.select([connection], [], [], max(deadline - time.monotonic(), 0))[0]:
        try:
            if not connection.recv(65536):
                return True
        except ConnectionError:
            return True
    return False


def drip(wire: Wire, data: bytes) -> bytes:
    """Sends bytes one at a time until the server closes the connection. Returns what the server sent before."""
    said = b""
    wire.socket.settimeout(0.02)
    deadline = time.monotonic() + SOON
    with contextlib.suppress(OSError):
        for byte in data * 10_000:
            assert time.monotonic() < deadline, "the server goes on listening"
            wire.send(bytes([byte]))
            with contextlib.suppress(TimeoutError):
                part = wire.socket.recv(65536)
                if not part:
                    return said
                said += part
    return said


def test_a_client_that_says_nothing_is_let_go(server: ApiServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as plain:
        assert is_closed_soon(plain)


def test_a_client_that_says_nothing_after_the_handshake_is_let_go(server: ApiServer) -> None:
    with opened(server) as wire:
        assert wire.is_closed(SOON)


@pytest.mark.parametrize("start", [b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"\r\n"])
def test_a_head_has_to_come_in_time(server: ApiServer, start: bytes) -> None:
    with opened(server) as silent, opened(server) as slow:
        silent.offer(start)
        slow.offer(start)
        drip(slow, b"\n" if start == b"\r\n" else b"a")
        assert silent.is_closed(SOON)


def test_a_head_after_an_answer_has_to_come_in_time_too(server: ApiServer) -> None:
    with opened(server) as wire:
        wire.request("GET /readyz")
        assert wire.reply().status == 200
        wire.send(b"GET / HT")
        assert wire.is_closed(SOON)


@pytest.mark.parametrize("framing", [b"Content-Length: 100000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n"])
@pytest.mark.parametrize("token", [True, False])
def test_a_body_has_to_come_at_some_rate(server: ApiServer, framing: bytes, token: bool) -> None:
    authorization = f"Authorization: Bearer {server.token}\r\n".encode() if token else b""
    with opened(server) as wire:
        wire.send(HEAD + authorization + framing)
        said = drip(wire, b"2\r\n{}\r\n" if b"chunked" in framing else b" ")
        assert said.rpartition(b"HTTP/1.1 ")[2].startswith(b"408 ")  # some may have been refused before


def test_a_body_that_comes_at_some_rate_may_take_longer(server: ApiServer) -> None:
    body = json.dumps({"metadata": {"generateName": "slow-"}}).encode().ljust(20 * PART)
    head = HEAD + f"Authorization: Bearer {server.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with opened(server) as wire:
        before, longest = time.monotonic(), 0.0  # `longest`: without a byte sent, because this process had to wait
        wire.send(head)
        for start in range(0, len(body), PART):
            select.select([], [], [], 3 * PATIENCE / (len(body) / PART))
            began = time.monotonic()
            wire.offer(body[start : start + PART])
            before, longest = began, max(longest, time.monotonic() - before)
        assert wire.reply().status == 201 or longest > PATIENCE


def test_a_watch_and_an_idle_connection_stay(server: ApiServer) -> None:
    with contextlib.ExitStack() as stack:
        idle = stack.enter_context(opened(server))
        idle.request("GET /readyz")
        idle.reply()
        watching = stack.enter_context(opened(server))
        watching.request("GET /api/v1/namespaces?watch=1&resourceVersion=0")
        assert not idle.is_closed(3 * PATIENCE)
        watching.socket.settimeout(0.1)
        with contextlib.suppress(TimeoutError):
            while True:
                assert watching.socket.recv(65536)


@contextlib.contextmanager
def crowd(connect: Callable[[], object], count: int) -> Iterator[None]:
    """Keeps `count` connections open while the block runs."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            with contextlib.suppress(OSError):
                stack.enter_context(connect())  # type: ignore[arg-type]
        yield


def has_at_most(server: ApiServer, most: int) -> bool:
    """Whether the server soon has at most `most` connections: a refused one is open for a moment."""
    deadline = time.monotonic() + SOON
    while len(peers(server)) > most and time.monotonic() < deadline:
        select.select([], [], [], 0.01)
    return len(peers(server)) <= most


def test_one_address_cannot_have_all_connections() -> None:
    # The time limits for silent clients are long here: only a refusal closes a connection.
    with api_server("--header-timeout=1h", f"--max-connections-per-address={MOST}", "--log-format=json") as server:
        assert ask(server, "GET", "/version").status == 200
        began = time.monotonic()
        with crowd(lambda: socket.create_connection(("127.0.0.1", server.port)), 4 * MOST):
            deadline = time.monotonic() + SOON
            while not refusals(server) and time.monotonic() < deadline:
                select.select([], [], [], 0.01)
            assert has_at_most(server, MOST), f"{len(peers(server))} connections stay open"
            found, *more = refusals(server)  # one line per interval, for any number of refusals
            assert len(more) <= (time.monotonic() - began) / BETWEEN_REPORTS
            assert (found["address"], found["connections"]) == ("127.0.0.1", MOST)
        assert has_at_most(server, 0)
        assert ask(server, "GET", "/version").status == 200  # places are free again, also after failed handshakes


def test_broken_handshakes_give_their_place_back(server: ApiServer) -> None:
    for _ in range(2 * MOST):
        with socket.create_connection(("127.0.0.1", server.port)) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert is_closed_soon(plain)
    context = ssl.create_default_context()  # this context does not trust the server's CA
    for _ in range(2 * MOST):
        with (
            pytest.raises(ssl.SSLError),
            socket.create_connection(("127.0.0.1", server.port)) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1"),
        ):
            pass
    until(lambda: answers(server, "/version"))


def test_silent_crowds_hold_nobody() -> None:
    with api_server() as server, held_at_most(server, 0.1):
        with crowd(lambda: socket.create_connection(("127.0.0.1", server.port)), 300):
            assert ask(server, "GET", "/version").status == 200
        with crowd(lambda: Wire(server), 100):
            assert ask(server, "GET", "/version").status == 200


def test_the_server_takes_as_many_descriptors_as_it_may(server: ApiServer) -> None:
    line = next(
        line
        for line in Path(f"/proc/{server.pid}/limits").read_text(encoding="ascii").splitlines()
        if line.startswith("Max open files")
    )
    soft, hard = line.split()[3:5]
    assert soft == hard


def test_few_descriptors_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    quota = ConnectionQuota.for_descriptors(10_000)
    assert quota.per_address < quota.total / 1.9 and quota.total < 1024


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_a_user_of_ipv6_has_a_whole_network(host: str, address: str) -> None:
    assert address_of(host) == address


def own_connection(server: ApiServer, wire: Wire) -> bool:
    """Whether the server still has its end of this connection."""
    return wire.socket.getsockname()[1] in peers(server)


def test_a_client_that_reads_nothing_is_let_go(server: ApiServer) -> None:
    with opened(server) as wire:
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        assert own_connection(server, wire)
        wire.send(wire.head("GET /openapi/v2") * 10)
        deadline = time.monotonic() + SOON
        while own_connection(server, wire) and time.monotonic() < deadline:
            select.select([], [], [], 0.01)
        assert not own_connection(server, wire)


def test_large_heads_that_never_end_have_a_limit_together() -> None:
    """The heads of all connections share a memory limit; small heads are still read when it is reached."""
    with api_server("--header-timeout=1h") as server, contextlib.ExitStack() as stack:  # only this limit ends them
        before = memory(server.pid)
        for _ in range(150):
            wire = stack.enter_context(Wire(server))
            with contextlib.suppress(OSError):
                wire.send(b"GET / HTTP/1.1\r\nX: " + b"a" * 900_000)
        assert ask(server, "GET", "/version").status == 200
        assert memory(server.pid) - before < 300 << 20
        assert wire.reply().status == 503


class PoorServer(ApiServer):
    """A server with a low limit of file descriptors."""

    def _command(self, control: int) -> list[str]:
        return ["prlimit", "--nofile=400:400", *super()._command(control)]


def test_silent_clients_lock_nobody_else_out(tmp_path: Path) -> None:
    server = PoorServer(tmp_path)
    server.start()
    try:
        with crowd(lambda: socket.create_connection(("127.0.0.1", server.port)), 500):
            context = ssl.create_default_context(cafile=str(server.ca_file))
            other = http.client.HTTPSConnection(
                "127.0.0.1", server.port, timeout=SOON, context=context, source_address=("127.0.0.2", 0)
            )
            other.request("GET", "/livez/ping", headers={"Authorization": f"Bearer {server.token}"})
            assert other.getresponse().status == 200
            until(lambda: "too many connections from this address" in server.log_file.read_text())
    finally:
        server.kill()
