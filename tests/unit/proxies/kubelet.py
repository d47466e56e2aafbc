"""A kubelet's end of a SPDY connection: it reads the opened streams, and answers on them."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Awaitable, Callable

from gateway.proxies import spdy
from tests.unit.outbound.servers import Peer


class Streams:
    """The streams of one session, by their type."""

    def __init__(self, peer: Peer) -> None:
        self._peer, self._unpacking = peer, zlib.decompressobj(zdict=spdy._dictionary())
        self._reading = spdy.Session()  # which makes frames of what comes, whoever sends it
        self.numbers: dict[str, int] = {}
        self.taken: dict[str, bytes] = {}
        self.ended: set[str] = set()

    async def take(self) -> bool:
        """Takes what has come; False at the end."""
        data = await self._peer.reader.read(65536)
        for found in self._reading.feed(data):
            if found.kind == spdy.SYN_STREAM:
                self.numbers[self._type(found.data[10:])] = found.stream
            elif found.kind == spdy.DATA:
                name = next(name for name, number in self.numbers.items() if number == found.stream)
                self.taken[name] = self.taken.get(name, b"") + found.data
                if found.last:
                    self.ended.add(name)
        return bool(data)

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            assert await self.take()

    async def say(self, name: str, data: bytes, last: bool = False, times: int = 1) -> None:
        """Sends a frame of data; with `times` as many at once."""
        await self._peer.say(self._reading.data(self.numbers[name], data, last=last) * times)

    async def reset(self, number: int) -> None:
        """Refuses a stream."""
        await self._peer.say(struct.pack(">HHIII", 0x8003, spdy.RST_STREAM, 8, number, 1))

    def _type(self, packed: bytes) -> str:
        block = self._unpacking.decompress(packed)
        (count,) = struct.unpack_from(">I", block)
        at, texts = 4, list[str]()
        for _ in range(2 * count):
            (size,) = struct.unpack_from(">I", block, at)
            texts.append(block[at + 4 : at + 4 + size].decode())
            at += 4 + size
        return dict(zip(texts[::2], texts[1::2], strict=True))["streamtype"]


def upgrading(carry: Callable[[Streams], Awaitable[None]]) -> Callable[[Peer], Awaitable[None]]:
    """A server that upgrades each request to SPDY."""

    async def answering(peer: Peer) -> None:
        head = await peer.request()
        assert head.startswith(b"POST ") and b"upgrade: SPDY/3.1" in head
        await peer.say(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: SPDY/3.1\r\nconnection: Upgrade\r\n\r\n")
        await carry(Streams(peer))

    return answering


class Client:
    """The client's end of a tunnel. It sends what a test puts into its queue."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.got = b""
        self.more = asyncio.Event()

    async def read(self) -> bytes:
        return await self.queue.get()

    def write(self, data: bytes) -> None:
        self.got += data
        self.more.set()

    async def drain(self) -> None: ...
