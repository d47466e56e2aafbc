"""Watches over WebSockets (RFC 6455), as kube-apiserver serves them to clients that ask for it: a message an event.

Such a client says nothing but that it lives (ping) and that it goes (close).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping

from gateway.http.cycle import SWITCHING
from gateway.http.exchange import TEXT_TYPE, Header, Request, Response
from gateway.http.tunnel import End

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of the RFC
_NORMAL = struct.pack(">H", 1000)
_LARGEST_CONTROL = 125  # bytes
_VERSION: Header = (b"sec-websocket-version", b"13")


def is_wanted(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request asks for a WebSocket."""
    wishes = headers.get(b"connection", b"").lower().split(b",")
    return headers.get(b"upgrade", b"").lower() == b"websocket" and b"upgrade" in map(bytes.strip, wishes)


def switched(request: Request, response: Response) -> Response:
    """The answer of a watch, as messages of a WebSocket where the client asked for one.

    400 where the request is none of the RFC's, 403 without an Origin: Go's server wants to know it.
    """
    body, headers = response.body, request.headers
    if not is_wanted(headers) or not isinstance(body, AsyncIterator):
        return response
    key = headers.get(b"sec-websocket-key", b"")
    protocols = [each.strip() for each in headers.get(b"sec-websocket-protocol", b"").split(b",") if each.strip()]
    if headers.get(_VERSION[0]) != _VERSION[1] or not key or len(protocols) > 1:
        return Response(400, b"400 Bad Request\n", TEXT_TYPE, [_VERSION])
    if b"origin" not in headers:
        return Response(403, b"403 Forbidden\n", TEXT_TYPE)
    accepted = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())
    said: list[Header] = [(b"upgrade", b"websocket"), (b"connection", b"Upgrade"), (b"sec-websocket-accept", accepted)]
    said += [(b"sec-websocket-protocol", each) for each in protocols]
    return Response(SWITCHING, b"", b"", said, tunnel=Events(body, response.content_type))


class Events:
    """A tunnel that tells events, a message each, until they end or the client goes."""

    def __init__(self, chunks: AsyncIterator[bytes], content_type: bytes) -> None:
        self._messages = _messages(chunks, content_type)
        self._chunks = chunks

    async def run(self, client: End) -> None:
        """Sends the events, and hears the client."""
        over = asyncio.Event()

        async def told() -> None:
            async for message in self._messages:
                client.write(message)
                await client.drain()

        async def heard() -> None:
            incoming = Incoming(client.write, over.set)
            while not over.is_set() and (data := await client.read()):
                incoming.take(data)

        tasks = [asyncio.ensure_future(told()), asyncio.ensure_future(heard())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def aclose(self) -> None:
        """Ends the events."""
        await self._messages.aclose()
        close = getattr(self._chunks, "aclose", None)
        if close is not None:
            await close()


async def _messages(chunks: AsyncIterator[bytes], content_type: bytes) -> AsyncGenerator[bytes, None]:
    """The events of a stream, a frame each, and the frame that ends them."""
    rest = b""
    try:
        async for chunk in chunks:
            if content_type.startswith(b"application/json"):
                *events, rest = (rest + chunk).split(b"\n")
                yield b"".join(frame(TEXT, event + b"\n") for event in events)
            elif b"protobuf" in content_type:
                events, rest = _prefixed(rest + chunk)
                yield b"".join(frame(BINARY, event) for event in events)
            else:
                yield frame(BINARY, chunk)
        yield frame(CLOSE, _NORMAL)
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


def _prefixed(data: bytes) -> tuple[list[bytes], bytes]:
    """The events that have their length in four bytes before them, and what is left of another."""
    events, at = [], 0
    while len(data) >= at + 4 and len(data) >= (end := at + 4 + int.from_bytes(data[at : at + 4])):
        events.append(data[at + 4 : end])
        at = end
    return events, data[at:]


def frame(opcode: int, payload: bytes) -> bytes:
    """A message, whole and not masked, as servers send them."""
    size = len(payload)
    if size < 126:
        head = struct.pack(">BB", 0x80 | opcode, size)
    elif size < 1 << 16:
        head = struct.pack(">BBH", 0x80 | opcode, 126, size)
    else:
        head = struct.pack(">BBQ", 0x80 | opcode, 127, size)
    return head + payload


class Incoming:
    """What a client sends over a WebSocket. `answer` sends a frame, `end` ends the connection."""

    def __init__(self, answer: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self._answer, self._end = answer, end
        self._held = b""  # of a frame that has not come whole
        self._ignored = 0  # bytes of a message that are to come yet

    def take(self, data: bytes) -> None:
        """Takes what has come; pings are answered, a close too, and what is no frame of a client ends all."""
        data, at = self._held + data, 0
        self._held = b""
        while True:
            skipped = min(self._ignored, len(data) - at)
            self._ignored -= skipped
            at += skipped
            head = _head(data, at)
            if head is None:
                self._held = data[at:]
                return
            opcode, start, size = head
            if opcode < CLOSE:
                at, self._ignored = start, size
                continue
            if start < 0 or size > _LARGEST_CONTROL:
                self._end()
                return
            if len(data) < start + size:
                self._held = data[at:]
                return
            mask, payload = data[start - 4 : start], data[start : start + size]
            at = start + size
            payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
            if opcode == PING:
                self._answer(frame(PONG, payload))
            elif opcode != PONG:
                self._answer(frame(CLOSE, payload[:2]))
                self._end()
                return


def _head(data: bytes, at: int) -> tuple[int, int, int] | None:
    """Opcode, where the payload starts, and its size; None where more has to come. What is not masked starts at -1."""
    if len(data) < at + 2:
        return None
    opcode, size, start = data[at] & 15, data[at + 1] & 127, at + 2
    if not data[at + 1] & 128:
        return CLOSE, -1, 0
    if size > _LARGEST_CONTROL:
        width = 2 if size == 126 else 8
        size, start = int.from_bytes(data[start : start + width]), start + width
    return None if len(data) < start + 4 else (opcode, start + 4, size)
