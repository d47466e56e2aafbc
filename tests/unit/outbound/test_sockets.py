"""Connections that carry bytes in both directions: all received data is used, however the other end closes."""

from __future__ import annotations

import asyncio
import gc
import select
import socket
import ssl
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvloop

from gateway.credentials.certificates import ensure_certificates, server_context
from gateway.outbound import sockets
from gateway.outbound.client import Client, Streamed
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target
from gateway.outbound.trust import TlsContext, trusting
from tests.unit.outbound.servers import serving

UPGRADE = OutboundRequest("GET", "/", [(b"connection", b"Upgrade"), (b"upgrade", b"x")], alone=True)
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: Upgrade\r\n\r\n"
FITS = 50_000  # bytes that a socket takes before anybody reads it
MUCH = 8 << 20


@pytest.fixture(params=["plain", "secured"])
def trust(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ssl.SSLContext | None, TlsContext | None]:
    """The contexts of the server and of its client."""
    if request.param == "plain":
        return None, None
    files = ensure_certificates(tmp_path, ["127.0.0.1"])
    return server_context(files.certificate, files.key), trusting(files.ca.read_text())


@contextmanager
def listening(secured: ssl.SSLContext | None, answering: Callable[[socket.socket], None]) -> Iterator[int]:
    """The port of a server that answers one connection, in a thread, once it has upgraded it."""

    def serve() -> None:
        accepted, _ = server.accept()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as Go's servers
        connection = secured.wrap_socket(accepted, server_side=True) if secured is not None else accepted
        with connection:
            while b"\r\n\r\n" not in connection.recv(4096):
                pass
            connection.sendall(SWITCHED)
            answering(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join(60)


async def upgraded(port: int, trust: TlsContext | None) -> Streamed:
    return await Client().stream(Target("127.0.0.1", port, trust), UPGRADE, 60)


async def all_of(tunnel: Streamed) -> bytes:
    parts = []
    try:
        async for part in tunnel:
            parts.append(part)
    except CallError:
        pass
    return b"".join(parts)


def test_what_came_before_a_reset_is_read_though_a_write_has_failed(
    trust: tuple[ssl.SSLContext | None, TlsContext | None],
) -> None:
    """A server that closes without having read all resets the connection."""
    reset = threading.Event()

    def answering(connection: socket.socket) -> None:
        connection.recv(5)
        select.select([connection], [], [], 60)  # more has come, and stays unread
        connection.sendall(b"x" * FITS)
        connection.close()
        reset.set()

    async def run(port: int) -> bytes:
        tunnel = await upgraded(port, trust[1])
        tunnel.write(b"hello")
        tunnel.write(b"and more")
        assert reset.wait(60)  # holds the loop: it has read nothing since
        for _ in range(3):
            tunnel.write(b"too late")
            await tunnel.drain()
        return await all_of(tunnel)

    with listening(trust[0], answering) as port:
        assert uvloop.run(run(port)) == b"x" * FITS


def test_all_that_was_written_is_taken_before_the_connection_ends(
    trust: tuple[ssl.SSLContext | None, TlsContext | None],
) -> None:
    """Also where the other end reads late, and still speaks."""
    got, go, whole = bytearray(), threading.Event(), threading.Event()

    def answering(connection: socket.socket) -> None:
        assert go.wait(60)
        connection.sendall(b"unread" * 100)
        while data := connection.recv(65536):
            got.extend(data)
        whole.set()

    async def run(port: int) -> None:
        tunnel = await upgraded(port, trust[1])
        tunnel.write(b"y" * MUCH)
        tunnel.finish()
        go.set()
        assert await asyncio.to_thread(whole.wait, 60)

    with listening(trust[0], answering) as port:
        uvloop.run(run(port))
    assert len(got) == MUCH


def test_an_end_that_takes_nothing_is_not_waited_for_for_ever(
    trust: tuple[ssl.SSLContext | None, TlsContext | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "PARTING", 0.1)
    over = threading.Event()

    async def run(port: int) -> None:
        tunnel = await upgraded(port, trust[1])
        tunnel.write(b"y" * MUCH)
        connection = tunnel._connection
        tunnel.finish()
        async with asyncio.timeout(60):
            assert await connection.read() == b""
        over.set()

    with listening(trust[0], lambda _: None if over.wait(60) else pytest.fail("it waits")) as port:
        uvloop.run(run(port))


def test_nothing_is_left_of_a_connection_that_has_ended(
    trust: tuple[ssl.SSLContext | None, TlsContext | None],
) -> None:
    """What is in a circle stays, since the collector does not look at what was in use once."""

    async def run(port: int) -> None:
        tunnel = await upgraded(port, trust[1])
        tunnel.write(b"hello")
        assert await anext(tunnel) == b"HELLO"
        connection = tunnel._connection
        tunnel.finish()
        assert await connection.read() == b""
        left = [weakref.ref(each) for each in (connection, connection._socket, connection._transport)]
        del tunnel, connection
        async with asyncio.timeout(60):
            while any(each() is not None for each in left):
                await asyncio.sleep(0)  # what the loop has still to call has them

    def answering(connection: socket.socket) -> None:
        while data := connection.recv(100):
            connection.sendall(data.upper())

    gc.disable()
    try:
        with listening(trust[0], answering) as port:
            uvloop.run(run(port))
    finally:
        gc.enable()


def test_bytes_go_both_ways_as_fast_as_the_other_end_takes_them(
    trust: tuple[ssl.SSLContext | None, TlsContext | None],
) -> None:
    def answering(connection: socket.socket) -> None:
        while data := connection.recv(65536):
            connection.sendall(data.upper())

    async def run(port: int) -> None:
        tunnel = await upgraded(port, trust[1])

        async def say() -> None:
            for _ in range(MUCH >> 16):
                tunnel.write(b"z" * 65536)
                await tunnel.drain()

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(say())
            size = 0
            while size < MUCH:
                part = await anext(tunnel)
                assert not part.strip(b"Z")
                size += len(part)
            assert size == MUCH
        await tunnel.aclose()

    with listening(trust[0], answering) as port:
        uvloop.run(run(port))


def test_what_is_no_upgrade_is_an_answer_as_any(trust: tuple[ssl.SSLContext | None, TlsContext | None]) -> None:
    async def run() -> None:
        async with serving(lambda peer: peer.answer(b"no"), *trust) as target:
            answer = await Client().stream(target, UPGRADE, 60)
            assert answer.status == 200 and await answer.whole() == b"no"

    asyncio.run(run())


def test_strangers_and_servers_without_tls_are_not_asked(tmp_path: Path) -> None:
    ours, theirs = (ensure_certificates(tmp_path / each, ["localhost"]) for each in ("ours", "theirs"))
    trust = trusting(ours.ca.read_text())

    async def refused(target: Target, why: str) -> None:
        with pytest.raises(CallError, match=why) as failed:
            await Client().stream(target, UPGRADE, 60)
        assert failed.value.dialling

    async def run() -> None:
        async with serving(lambda peer: peer.answer(), server_context(theirs.certificate, theirs.key), trust) as target:
            await refused(target, "x509: certificate signed by unknown authority")
        async with serving(lambda peer: peer.say(b"HTTP/1.1 400 Bad Request\r\n\r\n"), None, trust) as target:
            await refused(target, "tls: first record does not look like a TLS handshake")
        async with serving(lambda peer: peer.say(b""), None, trust) as target:
            await refused(target, "^EOF$")
        await refused(target, f"dial tcp 127.0.0.1:{target.port}: connect: connection refused")

    asyncio.run(run())
