"""Watches over WebSockets (RFC 6455), as in kube-apiserver: one message for each event.

The client of a watch sends only pings, pongs and a close; its other messages are ignored.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping

from gateway.http.cycle import SWITCHING
from gateway.http.exchange import TEXT_TYPE, Header, Request, Response
from gateway.http.tunnel import End

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of the RFC
_NORMAL = struct.pack(">H", 1000)
_LARGEST_CONTROL = 125  # bytes
_FRAMES_A_TURN = 500  # frames of a client that are read in one turn of the event loop: about a millisecond
_VERSION: Header = (b"sec-websocket-version", b"13")
PROTOCOL = b"sec-websocket-protocol"
BEARER_PROTOCOL = b"base64url.bearer.authorization.k8s.io."  # followed by a token, see access/spent_headers.py
SHOWED_TOKEN = "bearer_subprotocol"  # a key in the scope of a request that had such a token


def is_wanted(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request asks for a WebSocket."""
    wishes = headers.get(b"connection", b"").lower().split(b",")
    return headers.get(b"upgrade", b"").lower() == b"websocket" and b"upgrade" in map(bytes.strip, wishes)


def protocols_of(headers: Mapping[bytes, bytes]) -> list[bytes]:
    """The WebSocket subprotocols that a request offers, the preferred first."""
    return [each.strip() for each in headers.get(PROTOCOL, b"").split(b",") if each.strip()]


def is_sound(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request for a WebSocket has the version and the key that the RFC requires."""
    return headers.get(_VERSION[0]) == _VERSION[1] and bool(headers.get(b"sec-websocket-key"))


def unsound() -> Response:
    """The answer 400 to a request for a WebSocket that does not follow the RFC."""
    return Response(400, b"400 Bad Request\n", TEXT_TYPE, [_VERSION], encoded=True)


def acceptance(key: bytes, protocols: Iterable[bytes]) -> list[Header]:
    """The headers of an answer that accepts a WebSocket. `key` is the client's; `protocols` are the chosen ones."""
    accepted = base64.b64encode(hashlib.sha1(key + _GUID, usedforsecurity=False).digest())
    said: list[Header] = [(b"upgrade", b"websocket"), (b"connection", b"Upgrade"), (b"sec-websocket-accept", accepted)]
    return said + [(PROTOCOL, each) for each in protocols]


def switched(request: Request, response: Response) -> Response:
    """The answer of a watch, over a WebSocket if the client asked for one.

    It is 400 if the request does not follow the RFC. It is 403 without an Origin header, which Go's server requires,
    unless a subprotocol has a bearer token, which pages of other sites do not know.
    """
    body, headers = response.body, request.headers
    if not is_wanted(headers) or not isinstance(body, AsyncIterator):
        return response
    key = headers.get(b"sec-websocket-key", b"")
    protocols = protocols_of(headers)
    if not is_sound(headers) or len(protocols) > 1:
        return unsound()
    if b"origin" not in headers and not request.scope.get(SHOWED_TOKEN):
        return Response(403, b"403 Forbidden\n", TEXT_TYPE)
    said = acceptance(key, protocols)
    return Response(SWITCHING, b"", b"", said, tunnel=Events(body, response.content_type))


class Events:
    """A tunnel that sends events, one message each, until they end or the client closes."""

    def __init__(
        self, chunks: AsyncIterator[bytes], content_type: bytes, framed: Callable[[bytes], bytes] | None = None
    ) -> None:
        """`framed` makes a message of a chunk, for content types other than JSON and protobuf."""
        self._messages = _messages(chunks, content_type, framed or _as_bytes)
        self._chunks = chunks

    async def run(self, client: End) -> None:
        """Sends the events, and answers the client's frames."""

        async def told() -> None:
            async for message in self._messages:
                client.write(message)
                await client.drain()

        async def heard() -> None:
            incoming = Incoming()
            while not incoming.ended and (data := await client.read()):
                for answer in incoming.take(data):
                    if answer:
                        client.write(answer)
                        await client.drain()  # if the client does not read, its data is not read, either
                    await asyncio.sleep(0)

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


async def _messages(
    chunks: AsyncIterator[bytes], content_type: bytes, framed: Callable[[bytes], bytes]
) -> AsyncGenerator[bytes, None]:
    """The frames of a stream's events, one for each event, then the close frame."""
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
                yield framed(chunk)
        yield frame(CLOSE, _NORMAL)
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


def _as_bytes(chunk: bytes) -> bytes:
    return frame(BINARY, chunk)


def _prefixed(data: bytes) -> tuple[list[bytes], bytes]:
    """Splits data into events, each with its length in the four bytes before it; returns the incomplete rest, too."""
    events, at = [], 0
    while len(data) >= at + 4 and len(data) >= (end := at + 4 + int.from_bytes(data[at : at + 4])):
        events.append(data[at + 4 : end])
        at = end
    return events, data[at:]


def frame(opcode: int, payload: bytes) -> bytes:
    """A message as one frame, not masked, as servers send it."""
    size = len(payload)
    if size < 126:
        head = struct.pack(">BB", 0x80 | opcode, size)
    elif size < 1 << 16:
        head = struct.pack(">BBH", 0x80 | opcode, 126, size)
    else:
        head = struct.pack(">BBQ", 0x80 | opcode, 127, size)
    return head + payload


class Incoming:
    """Reads the frames of a client. Pings and a close are answered; an invalid frame ends the WebSocket (`ended`).

    Of several pings that come together, only the last is answered (RFC 6455, 5.5.3).
    """

    def __init__(self) -> None:
        self.ended = False
        self._held = b""  # bytes not read yet, or of an incomplete frame
        self._ignored = 0  # bytes of an ignored message that are still to come
        self._answer = b""

    def take(self, data: bytes) -> Iterator[bytes]:
        """Reads received data. Yields the answer, b"" for none, after every few frames, so that the caller can let
        other tasks run.
        """
        self._held += data
        at, left = 0, _FRAMES_A_TURN
        while not self.ended and (after := self._frame(at)) is not None:
            at, left = after, left - 1
            if not left:
                self._held, at, left = self._held[at:], 0, _FRAMES_A_TURN
                yield self._answered()
        self._held = b"" if self.ended else self._held[at:]
        yield self._answered()

    def _answered(self) -> bytes:
        answer, self._answer = self._answer, b""
        return answer

    def _frame(self, at: int) -> int | None:
        """Reads a frame; of a message, skips what has come. Returns where the next frame starts; None if it needs more
        data.
        """
        data = self._held
        if self._ignored:
            skipped = min(self._ignored, len(data) - at)
            self._ignored -= skipped
            return at + skipped if skipped else None
        head = _head(data, at)
        if head is None:
            return None
        opcode, start, size = head
        if opcode < CLOSE:
            self._ignored = size
            return start
        self.ended = start < 0 or size > _LARGEST_CONTROL
        if self.ended or len(data) < start + size:
            return None
        if opcode != PONG:
            mask, payload = data[start - 4 : start], data[start : start + size]
            payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
            if opcode == PING:
                self._answer = frame(PONG, payload)
            else:
                self._answer += frame(CLOSE, payload[:2])
                self.ended = True
        return start + size


def _head(data: bytes, at: int) -> tuple[int, int, int] | None:
    """Opcode, start and size of the payload; None if more data is needed. The start is -1 in a frame without a mask."""
    if len(data) < at + 2:
        return None
    opcode, size, start = data[at] & 15, data[at + 1] & 127, at + 2
    if not data[at + 1] & 128:
        return CLOSE, -1, 0
    if size > _LARGEST_CONTROL:
        width = 2 if size == 126 else 8
        size, start = int.from_bytes(data[start : start + width]), start + width
    return None if len(data) < start + 4 else (opcode, start + 4, size)
