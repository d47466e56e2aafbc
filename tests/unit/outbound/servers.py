"""Servers that send the bytes that a test gives."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from gateway.outbound.target import Target
from gateway.outbound.trust import TlsContext

Answering = Callable[["Peer"], Awaitable[None]]


class Peer:
    """The server's end of one connection."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number, self.reader, self.writer = number, reader, writer

    async def request(self) -> bytes:
        """The next request's head."""
        return await self.reader.readuntil(b"\r\n\r\n")

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, body: bytes = b"yes", head: bytes = b"") -> None:
        """A request, and 200 to it."""
        await self.request()
        await self.say(b"HTTP/1.1 200 OK\r\n%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))


@asynccontextmanager
async def serving(
    answering: Answering, secured: ssl.SSLContext | None = None, trust: TlsContext | None = None
) -> AsyncIterator[Target]:
    """A server of which each connection is answered by `answering` and then closed."""
    count = 0
    tasks = set[asyncio.Task[None]]()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await answering(Peer(count, reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=secured)
    try:
        yield Target("127.0.0.1", server.sockets[0].getsockname()[1], trust)
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def saying(data: bytes) -> Answering:
    """Says these bytes to a request, whatever it is."""

    async def answering(peer: Peer) -> None:
        await peer.request()
        await peer.say(data)

    return answering
