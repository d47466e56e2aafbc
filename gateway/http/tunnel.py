"""A connection after an upgrade: bytes in both directions until one side ends.

A Response with status 101 has a Tunnel. Its `run` reads and writes the client's end.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

_MUCH = 256 << 10  # unread bytes, from which on reading from the client is paused


class TunnelFlow(Protocol):
    """Flow control of a connection (http/flow.py)."""

    write_paused: bool

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...
    async def drain(self) -> None: ...


class End(Protocol):
    """One end of a tunnel."""

    async def read(self) -> bytes:
        """Waits for data and returns all of it; b"" once the other side has ended."""
        ...

    def write(self, data: bytes) -> None:
        """Sends bytes, or buffers them."""
        ...

    async def drain(self) -> None:
        """Waits until most of the written data is sent."""
        ...


class Tunnel(Protocol):
    """The work of a connection after the head of an answer with status 101."""

    async def run(self, client: End) -> None:
        """Reads and writes until the tunnel ends; the connection is closed after that."""
        ...

    async def aclose(self) -> None:
        """Frees the tunnel's resources; called also if `run` never was."""
        ...


class ClientEnd:
    """The client's end of a connection to this server."""

    __slots__ = ("_chunks", "_ended", "_flow", "_over", "_paused", "_size", "_transport", "_waiter", "_write")

    def __init__(self, transport: asyncio.WriteTransport, flow: TunnelFlow) -> None:
        self._transport, self._write, self._flow = transport, transport.write, flow
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._paused = self._ended = self._over = False
        self._waiter: asyncio.Future[None] | None = None

    def take(self, data: bytes) -> None:
        """Receives bytes from the client."""
        if self._over:
            return
        self._chunks.append(data)
        self._size += len(data)
        if self._size > _MUCH and not self._paused:
            self._paused = True
            self._flow.pause_reading()
        self._wake()

    def end(self) -> None:
        """Ends the tunnel: the client is gone, or the server stops."""
        self._ended = True
        self._wake()

    async def read(self) -> bytes:
        while not self._chunks:
            if self._ended:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = self._chunks.popleft() if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._size = 0
        if self._paused:
            self._paused = False
            self._flow.resume_reading()
        return data

    def write(self, data: bytes) -> None:
        if not self._ended:
            self._write(data)

    async def drain(self) -> None:
        if self._flow.write_paused and not self._ended:
            await self._flow.drain()

    async def flush(self) -> None:
        """Waits until all written data is sent, or the client is gone. From now on, received data is dropped.

        Closing a connection with unread data would reset it, and destroy what the client has not read yet.
        """
        self._over = True
        self._flow.resume_reading()
        if not self._ended:
            self._transport.set_write_buffer_limits(high=1, low=0)
            await self.drain()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


async def join(one: End, other: End, idle: float) -> None:
    """Copies bytes between two ends until either ends, or none come from either for `idle` seconds.

    Bytes that an end sent before it ended are still passed on. Each end is read only as fast as the other accepts.
    """
    moved = asyncio.get_running_loop().time()

    async def carry(source: End, target: End) -> None:
        nonlocal moved
        while data := await source.read():
            moved = asyncio.get_running_loop().time()
            target.write(data)
            await target.drain()

    carrying = [asyncio.ensure_future(carry(one, other)), asyncio.ensure_future(carry(other, one))]
    try:
        left = idle
        while left > 0:
            done, _ = await asyncio.wait(carrying, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return
            left = moved + idle - asyncio.get_running_loop().time()
    finally:
        for each in carrying:
            each.cancel()
        await asyncio.gather(*carrying, return_exceptions=True)
