"""One HTTP/2 connection to an etcd member, for the small calls that most requests make (RFC 9113; gRPC over HTTP2).

grpcio takes a fifth of a millisecond of the event loop for a call, and a thread beside it. Here a call is one write of
bytes that are known but for its message, and an answer is three frames. What does not fit that is not done here: who
calls asks `takes` first, and has grpcio's channel for the rest.

The table of headers is switched off (RFC 7541, section 4.2), so that a block of headers means the same whenever it
comes: what one means is remembered by its bytes.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, cast
from urllib.parse import unquote

import grpc
from grpc.aio import AioRpcError, Metadata

from storage.etcd.errors import NOT_EXECUTED

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
_TABLE_SIZE, _PUSH, _STREAMS, _INITIAL_WINDOW, _FRAME_SIZE = 1, 2, 3, 4, 5
_REFUSED_STREAM, _CANCEL = 7, 8
_WINDOW: Final = (1 << 31) - 1  # what may come at once: only what was asked for does
_DEFAULT_WINDOW: Final = 65_535
_MESSAGE = struct.Struct(">BI")
_FRAME = struct.Struct(">HBBBI")  # the length's upper 16 bits and lower 8, type, flags, stream
_SETTING = struct.Struct(">HI")
_LARGEST_FRAME: Final = 16_384
_LAST_STREAM: Final = 1 << 30  # a new connection is made before their numbers end
_REMEMBERED: Final = 64  # blocks of headers

Meaning = tuple[int | None, str]  # the grpc-status of a block, None where it has none, and the words with it


@dataclass(slots=True)
class _Call:
    answer: asyncio.Future[bytes]
    sent: float
    body: list[bytes] = field(default_factory=list)


class ProtocolError(Exception):
    """The other end does what this one does not know."""


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    size = len(payload)
    return _FRAME.pack(size >> 8, size & 0xFF, kind, flags, stream) + payload


def literal(name: bytes, value: bytes) -> bytes:
    """A header that nobody has to remember (RFC 7541, section 6.2.2)."""
    return b"\0" + _string(name) + _string(value)


def _string(text: bytes) -> bytes:
    """RFC 7541, section 5.2, without Huffman coding."""
    size = len(text)
    if size < 127:
        return bytes((size,)) + text
    size -= 127
    prefix = bytearray(b"\x7f")
    while size > 127:
        prefix.append(size & 127 | 128)
        size >>= 7
    prefix.append(size)
    return bytes(prefix) + text


class Line(asyncio.Protocol):
    """A connection, from its making until it is lost; `ready` tells whether it can be called."""

    def __init__(self, authority: str, secure: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self.retired = False  # it takes no more calls, and closes after the last
        self._transport: asyncio.Transport | None = None
        self._common = literal(b":scheme", b"https" if secure else b"http") + literal(b":authority", authority.encode())
        self._rest = b""
        self._out: list[bytes] = []  # what leaves at the end of this turn of the loop
        self._calls: dict[int, _Call] = {}
        self._next, self._most = 1, _WINDOW
        self._window = self._stream_window = _DEFAULT_WINDOW
        self._unreported = 0  # bytes that came and that the other end may not send anew yet
        self._heard = 0.0
        self._heads: dict[bytes, bytes] = {}  # headers by path, with `_metadata`
        self._metadata: Metadata | None = None
        self._meanings: dict[bytes, Meaning] = {}

    # calls

    def takes(self, size: int) -> bool:
        """Whether a message of that many bytes can be sent at once."""
        return (
            not self.retired
            and size + _MESSAGE.size <= min(self._window, self._stream_window)
            and len(self._calls) < self._most
        )

    async def call(self, path: str, message: bytes, timeout: float, metadata: Metadata) -> bytes:
        """The answer's message. The line must take the message. Raises AioRpcError."""
        loop, stream = self._loop, self._next
        self._next = stream + 2
        if self._next > _LAST_STREAM:
            self.retired = True
        call = self._calls[stream] = _Call(loop.create_future(), loop.time())
        self._send(stream, path, message, timeout, metadata)
        timer = loop.call_later(timeout, self._expire, stream)
        try:
            return await call.answer
        finally:
            timer.cancel()
            if self._calls.pop(stream, None) is not None:  # nobody waits for it any more
                self._write(frame(_RESET, 0, stream, _CANCEL.to_bytes(4, "big")))
            self._close_if_done()

    def _send(self, stream: int, path: str, message: bytes, timeout: float, metadata: Metadata) -> None:
        if metadata is not self._metadata:
            self._metadata, self._heads = metadata, {}
        head = self._heads.get(path.encode())
        if head is None:
            head = self._heads[path.encode()] = self._head(path, metadata)
        head += literal(b"grpc-timeout", b"%dm" % max(timeout * 1000, 1))
        size = len(message)
        self._window -= size + _MESSAGE.size
        frames = [frame(_HEADERS, _END_HEADERS, stream, head)]
        message = _MESSAGE.pack(0, size) + message
        if len(message) <= _LARGEST_FRAME:
            frames.append(frame(_DATA, _END_STREAM, stream, message))
        else:
            pieces = [message[start : start + _LARGEST_FRAME] for start in range(0, len(message), _LARGEST_FRAME)]
            frames += [frame(_DATA, 0, stream, piece) for piece in pieces[:-1]]
            frames.append(frame(_DATA, _END_STREAM, stream, pieces[-1]))
        self._write(b"".join(frames))

    def _head(self, path: str, metadata: Metadata) -> bytes:
        headers: Iterable[tuple[str, str]] = (
            (":path", path),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("user-agent", "apiserver-gateway"),
            *cast(Iterable[tuple[str, str]], metadata),
        )
        fields = b"".join(literal(name.encode(), value.encode()) for name, value in headers)
        return literal(b":method", b"POST") + self._common + fields

    def _expire(self, stream: int) -> None:
        call = self._calls[stream]
        if self._heard < call.sent:
            self.retired = True  # perhaps nobody is there any more
        self._fail(stream, grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded")
        self._write(frame(_RESET, 0, stream, _CANCEL.to_bytes(4, "big")))

    def _fail(self, stream: int, code: grpc.StatusCode, details: str) -> None:
        call = self._calls.pop(stream)
        if not call.answer.done():
            call.answer.set_exception(AioRpcError(code, Metadata(), Metadata(), details))

    # the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        settings = ((_TABLE_SIZE, 0), (_PUSH, 0), (_INITIAL_WINDOW, _WINDOW))
        more = (_WINDOW - _DEFAULT_WINDOW).to_bytes(4, "big")
        self._write(
            _PREFACE
            + frame(_SETTINGS, 0, 0, b"".join(_SETTING.pack(*setting) for setting in settings))
            + frame(_WINDOW_UPDATE, 0, 0, more)
        )

    def connection_lost(self, error: Exception | None) -> None:
        self.retired = True
        if not self.ready.done():
            self.ready.set_exception(ConnectionError("closed before it was ready"))
        for stream in list(self._calls):
            self._fail(stream, grpc.StatusCode.UNAVAILABLE, f"connection to etcd lost: {error or 'closed'}")

    def close(self) -> None:
        """Ends the connection; calls under way are cancelled."""
        self.retired = True
        for call in list(self._calls.values()):
            call.answer.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _close_if_done(self) -> None:
        if self.retired and not self._calls and self._transport is not None:
            self._flush()
            self._transport.close()

    def _write(self, data: bytes) -> None:
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)

    def _flush(self) -> None:
        out, self._out = self._out, []
        assert self._transport is not None
        if out and not self._transport.is_closing():
            self._transport.write(b"".join(out))

    # what comes

    def data_received(self, data: bytes) -> None:
        self._heard = self._loop.time()
        if self._rest:
            data = self._rest + data
        at, size = 0, len(data)
        try:
            while size - at >= _FRAME.size:
                upper, lower, kind, flags, stream = _FRAME.unpack_from(data, at)
                start = at + _FRAME.size
                end = start + (upper << 8) + lower
                if end - start > _LARGEST_FRAME:
                    raise ProtocolError("a frame that is too large")
                if end > size:
                    break
                handle = _HANDLERS.get(kind)
                if handle is not None:
                    handle(self, flags, stream & _WINDOW, data[start:end])
                at = end
        except Exception as error:
            self._give_up(error)
            return
        self._rest = data[at:]

    def _give_up(self, error: Exception) -> None:
        if not self.ready.done():
            self.ready.set_exception(error)
        self.retired = True
        assert self._transport is not None
        self._transport.abort()

    def _on_data(self, flags: int, stream: int, payload: bytes) -> None:
        if flags & _PADDED:
            raise ProtocolError("padding")
        self._unreported += len(payload)
        if self._unreported > _WINDOW // 4:
            self._write(frame(_WINDOW_UPDATE, 0, 0, self._unreported.to_bytes(4, "big")))
            self._unreported = 0
        call = self._calls.get(stream)
        if call is None:
            return
        call.body.append(payload)
        if flags & _END_STREAM:
            self._fail(stream, grpc.StatusCode.INTERNAL, "an answer without trailers")

    def _on_headers(self, flags: int, stream: int, payload: bytes) -> None:
        if flags & (_PADDED | _PRIORITY) or not flags & _END_HEADERS:
            raise ProtocolError("headers in a form that etcd does not send")
        code, details = self._meaning(payload)
        if stream not in self._calls or (code is None and not flags & _END_STREAM):
            return
        if code == 0:
            self._answer(stream)
        else:
            self._fail(stream, _CODES.get(code, grpc.StatusCode.UNKNOWN), details)

    def _answer(self, stream: int) -> None:
        call = self._calls.pop(stream)
        body = call.body[0] if len(call.body) == 1 else b"".join(call.body)
        if call.answer.done():
            return
        if len(body) < _MESSAGE.size or body[0] or _MESSAGE.unpack_from(body)[1] != len(body) - _MESSAGE.size:
            error = AioRpcError(grpc.StatusCode.INTERNAL, Metadata(), Metadata(), "an answer that is no single message")
            call.answer.set_exception(error)
        else:
            call.answer.set_result(body[_MESSAGE.size :])

    def _meaning(self, block: bytes) -> Meaning:
        known = self._meanings.get(block)
        if known is None:
            known = _meaning(block)
            if len(self._meanings) < _REMEMBERED:
                self._meanings[block] = known
        return known

    def _on_reset(self, _: int, stream: int, payload: bytes) -> None:
        if stream in self._calls:
            reason = int.from_bytes(payload, "big")
            self._fail(
                stream, grpc.StatusCode.UNAVAILABLE, NOT_EXECUTED if reason == _REFUSED_STREAM else f"reset: {reason}"
            )

    def _on_settings(self, flags: int, _: int, payload: bytes) -> None:
        if flags & _ACK:  # from now on the other end writes no headers by its table
            if not self.ready.done():
                self.ready.set_result(None)
            return
        for name, value in _SETTING.iter_unpack(payload):
            if name == _INITIAL_WINDOW:
                self._stream_window = value
            elif name == _STREAMS:
                self._most = value
        self._write(frame(_SETTINGS, _ACK, 0))

    def _on_ping(self, flags: int, _: int, payload: bytes) -> None:
        if not flags & _ACK:
            self._write(frame(_PING, _ACK, 0, payload))

    def _on_goaway(self, _: int, __: int, payload: bytes) -> None:
        self.retired = True
        last = int.from_bytes(payload[:4], "big") & _WINDOW
        for stream in [stream for stream in self._calls if stream > last]:
            self._fail(stream, grpc.StatusCode.UNAVAILABLE, NOT_EXECUTED)
        self._close_if_done()

    def _on_window_update(self, _: int, stream: int, payload: bytes) -> None:
        if not stream:  # a stream's own is never used up
            self._window += int.from_bytes(payload, "big")


_HANDLERS: dict[int, Callable[[Line, int, int, bytes], None]] = {
    _DATA: Line._on_data,
    _HEADERS: Line._on_headers,
    _RESET: Line._on_reset,
    _SETTINGS: Line._on_settings,
    _PING: Line._on_ping,
    _GOAWAY: Line._on_goaway,
    _WINDOW_UPDATE: Line._on_window_update,
}
_CODES: dict[int | None, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def _meaning(block: bytes) -> Meaning:
    """Reads a block of headers by itself. Raises what hpack raises."""
    from hpack import Decoder

    decoder = Decoder()
    decoder.max_allowed_table_size = 0
    decoder.header_table_size = 0
    headers = {bytes(name): bytes(value) for name, value, *_ in decoder.decode(block, raw=True)}
    status = headers.get(b":status", b"200")
    if status != b"200":
        return grpc.StatusCode.UNAVAILABLE.value[0], f"HTTP status {status.decode('latin-1')}"
    code = headers.get(b"grpc-status")
    if code is None:
        return None, ""
    return int(code), unquote(headers.get(b"grpc-message", b"").decode("latin-1"))
