"""Connections before TLS: many handshakes at once, and clients that speak plain HTTP."""

from __future__ import annotations

import contextlib
import socket
import ssl

import pytest

from apiserver_gateway.testing import ApiServer
from tests.hostile.probe import cpu_seconds, held_at_most
from tests.integration.server.client import ask
from tests.limits import at_most_cpu

HELD = 0.1  # seconds
CROWD = 1_000
NO_TLS = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"


@pytest.fixture(scope="module")
def server_flags() -> tuple[str, ...]:
    """Time limits are long: no connection may be closed because the others take their time."""
    return ("--header-timeout=10m",)


def hello() -> bytes:
    """The first message of a TLS handshake (ClientHello)."""
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_a_crowd_that_begins_tls_at_once_holds_nobody(server: ApiServer) -> None:
    """A handshake costs the server a key exchange and a signature, and its client nothing; others are not delayed."""
    message = hello()
    with held_at_most(server, HELD), contextlib.ExitStack() as stack:
        before = cpu_seconds(server.pid)
        crowd = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60)) for _ in range(CROWD)
        ]
        for connection in crowd:
            connection.sendall(message)
        for connection in crowd:
            assert connection.recv(1) == b"\x16"  # a record of the server's own handshake message
        assert ask(server, "GET", "/version").status == 200
    at_most_cpu(cpu_seconds(server.pid) - before, 10)


@pytest.mark.parametrize(
    "start",
    [b"GET / HTTP/1.1\r\n\r\n", b"POST / HTTP/1.1\r\nHost: a\r\n\r\n" + b"x" * 50_000, b"OPTIONS * HTTP/1.1\r\n\r\n"],
)
def test_plain_http_is_told_so(server: ApiServer, start: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
        plain.sendall(start)
        said = b""
        with contextlib.suppress(ConnectionError):
            while part := plain.recv(65536):
                said += part
    assert said == NO_TLS or (len(start) > 10_000 and said in (b"", NO_TLS))  # unread bytes may cut off the answer


@pytest.mark.parametrize("start", [b"SSH-2.0-x\r\n", b"\0" * 100, b"GET", b"DELETE / HTTP/1.1\r\n\r\n"])
def test_what_is_neither_is_let_go(server: ApiServer, start: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain:
        plain.sendall(start)
        with contextlib.suppress(OSError):  # the server may have closed the connection
            plain.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionError):
            assert plain.recv(65536) == b""


def test_a_hello_that_comes_byte_by_byte_is_taken(server: ApiServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as slow:
        for byte in hello():
            slow.sendall(bytes([byte]))
        assert slow.recv(1) == b"\x16"
