"""One connection to another server: writes a request and reads the answer, at the caller's pace."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from typing import cast

import httptools

from gateway.outbound.errors import CallError, broken
from gateway.outbound.request import Header
from storage.time_slice import TimeSlice

PARTING = 5.0  # seconds that the other end has to read the rest and to close
MAX_HEAD = 1 << 20  # bytes of an answer's head; Go's client accepts 10 MB
_MOST_HEADERS = 1000
# Sizes of chunks, their extensions and trailers may be so many times the body, and so many bytes more (as Go's client).
_SHARE_OF_BODY, _MOST_EXCESS = 19, 16 << 10
_MOST_PROVISIONAL = 5  # informational answers (1xx) before the final one
_MUCH = 256 << 10  # unread bytes from which on reading from the socket pauses
_PIECE = 16 << 10  # bytes that are parsed between two looks at the clock: they may be thousands of chunks


class ResponseHead:
    """An answer's status and headers; header names are in lower case."""

    __slots__ = ("first", "headers", "status")

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[Header] = []
        self.first: dict[bytes, bytes] = {}  # the first value of each header, once all headers have come


class OutboundConnection(asyncio.Protocol):
    """Writes requests and reads answers, one after the other; after an upgrade, bytes in both directions.

    `begin` starts an exchange, `head` waits for the answer's head, `read` for a part of its body.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._socket: asyncio.Transport  # below TLS
        self._loop = asyncio.get_running_loop()
        self._waiter: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._chunks: deque[bytes] = deque()
        self._waiting = 0  # bytes of the unread chunks
        self._paused = self._full = False
        self._rest = b""  # what has come and is parsed in a later turn of the event loop
        self._closed: tuple[Exception | None] | None = None  # the end of the connection, if it came meanwhile
        self._parser: httptools.HttpResponseParser | None = None
        self._keeps = True
        self._ended = False  # whether the other end has closed its side
        self._error: CallError | None = None
        self.lost = False
        self.raw = False  # whether it was upgraded
        self.used = 0  # answers that were read to their end
        self.since = 0.0  # since when it is idle, by the monotonic clock
        self._reset("GET")

    def _reset(self, method: str) -> None:
        self._bodiless = method == "HEAD"
        self._head: ResponseHead | None = None
        self._building = ResponseHead()
        self._head_size = self._provisional = self._body = self._excess = 0
        self._has_length = self._complete = False

    # for the caller

    def begin(self, method: str, head: bytes) -> None:
        """Writes a request's head, perhaps with its body. All bytes received from now on are the answer."""
        self._reset(method)
        if self._parser is None:
            self._parser = httptools.HttpResponseParser(self)
        self._transport.write(head)

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def drain(self) -> None:
        """Waits until most written bytes are sent. Raises CallError if the connection is lost.

        After an upgrade it does not raise: the caller may still have to read bytes, and then sees the end.
        """
        if self._full and not self.lost:
            if self._writable is None:
                self._writable = self._loop.create_future()
            await self._writable
        if self.lost and not self.raw:
            raise self._error or CallError("write: broken pipe", reset=True)

    async def head(self) -> ResponseHead:
        """Waits for the answer's head. Raises CallError."""
        while self._head is None:
            if self._error is not None:
                raise self._error
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._head

    async def read(self) -> bytes:
        """Waits for the next part of the body; b"" at its end. Raises CallError if the connection breaks before."""
        while not self._chunks:
            if self._complete or (self.raw and self._ended):
                return b""
            if self._error is not None:
                raise self._error
            await self._wait()
        data = self._chunks.popleft() if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._waiting = 0
        if self._paused and not self._rest:
            self._paused = False
            if not self.lost:
                self._socket.resume_reading()
        return data

    def whole(self, largest: int) -> bytes | None:
        """The whole body, if it has already come and has at most `largest` bytes; else None. Takes it out."""
        if not self._complete or self._bodiless or self._waiting > largest or self._error is not None:
            return None
        data = b"".join(self._chunks)
        self._chunks.clear()
        self._waiting = 0
        return data

    @property
    def keepable(self) -> bool:
        """Whether another request may follow: the answer was read to its end, and the server keeps the connection."""
        return self._complete and self._keeps and not self.lost and not self.raw and not self._chunks

    @property
    def begun(self) -> bool:
        """Whether a part of the answer has come."""
        return self._head_size > 0

    @property
    def tls(self) -> ssl.SSLObject | None:
        return cast("ssl.SSLObject | None", self._transport.get_extra_info("ssl_object"))

    def close(self) -> None:
        """Ends the connection at once."""
        self.lost, self._rest = True, b""
        self._transport.abort()

    def finish(self) -> None:
        """Ends the connection after all written bytes are sent."""
        self.lost = True
        self._transport.close()

    async def _wait(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # for the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = self._socket = cast(asyncio.Transport, transport)

    def secured(self, transport: asyncio.Transport) -> None:
        """Sets the TLS transport, which the connection uses from now on.

        To pause reading, the connection still uses the transport below TLS. If it paused the TLS transport, bytes in
        its buffers would be lost when the other end closes.
        """
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._rest:
            self._rest += data  # reading pauses, so that little comes
        else:
            self._receive(data)

    def _receive(self, data: bytes) -> None:
        """Reads what has come; puts the rest off if it takes long."""
        at, slice_ = 0, None
        while at < len(data) and not (at and self.lost):
            if self.raw:
                self._take(data[at:])
                break
            if self._parser is None or self._complete:
                self._keeps = False  # bytes without a request
                self.close()
                break
            if slice_ is None and len(data) > _PIECE:
                slice_ = TimeSlice()
            self._parse(data[at : at + _PIECE])
            at += _PIECE
            if slice_ is not None and at < len(data) and slice_.over() and not self.lost:
                self._put_off(data[at:])
                break
        self._wake()

    def _put_off(self, rest: bytes) -> None:
        self._rest = rest
        if not self._paused:
            self._paused = True
            self._socket.pause_reading()
        self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """Reads what was put off, and then the end of the connection, if it came meanwhile."""
        rest, self._rest = self._rest, b""
        if rest:
            self._receive(rest)
        if self._rest:
            return
        if self._closed is not None:
            self.connection_lost(self._closed[0])
        elif self._paused and self._waiting <= _MUCH and not self.lost:
            self._paused = False
            self._socket.resume_reading()

    def eof_received(self) -> bool:
        if self._rest:
            return False  # connection_lost follows
        self._ended = True
        if self._head is not None and not self._has_length and not self._complete and not self.raw:
            self._complete, self._keeps = True, False  # the end of the connection is the end of such a body
        elif not self._complete and not self.raw:
            self._fail(broken(None, self.begun))
        self._keeps = False
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._rest:
            self._closed = (exc,)
            return
        if not self._ended:
            if exc is None:
                self.eof_received()
            else:
                self._fail(broken(exc, self.begun))
        self.lost = self._ended = True
        self._keeps = False
        self._parser = None  # breaks a reference cycle (`gateway.memory`)
        self._wake()
        self.resume_writing()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        if self._writable is not None:
            if not self._writable.done():
                self._writable.set_result(None)
            self._writable = None

    def _parse(self, data: bytes) -> None:
        assert self._parser is not None
        follows, body = self._head is not None, self._body
        if not follows:
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.raw = True
            if rest := data[upgrade.args[0] :]:
                self._take(rest)
        except httptools.HttpParserError as error:
            if not self._complete:
                shown = getattr(error, "__context__", None) or error
                self._fail(shown if isinstance(shown, CallError) else CallError(f"malformed HTTP response: {error}"))
            self._keeps = False
        if follows:
            self._excess = max(0, self._excess + len(data) - _SHARE_OF_BODY * (self._body - body))
            if self._excess > _MOST_EXCESS and self._error is None and not self.raw:
                self._fail(CallError("chunked encoding contains too much non-data"))
        if self._head is None and self._head_size > MAX_HEAD and self._error is None:
            self._fail(CallError(f"net/http: server response headers exceeded {MAX_HEAD} bytes; aborted"))

    def _take(self, data: bytes) -> None:
        self._chunks.append(data)
        self._waiting += len(data)
        if self._waiting > _MUCH and not self._paused and not self.lost:
            self._paused = True
            self._socket.pause_reading()

    def _fail(self, error: CallError) -> None:
        if self._error is None:
            self._error = error
        self._keeps = False
        if not self.lost:
            self.close()

    # for the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._head is not None:
            return  # a trailer
        name = name.lower()
        if name in (b"content-length", b"transfer-encoding"):
            self._has_length = True
        self._building.headers.append((name, value))
        if len(self._building.headers) > _MOST_HEADERS:
            raise CallError("net/http: server response has too many headers")

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 200 and status != 101:
            self._provisional += 1
            if self._provisional > _MOST_PROVISIONAL:
                raise CallError("net/http: too many 1xx informational responses")
            self._building = ResponseHead()
            self._has_length = False
            return
        self._building.status = status
        self._building.first = dict(reversed(self._building.headers))
        if status == 204 or status == 304 or status == 101:
            self._has_length = True
        self._head = self._building
        if self._bodiless:
            self._complete = True
            self._keeps = self._keeps and self._parser.should_keep_alive()
            self._parser = None  # it would wait for the body that a GET would have

    def on_body(self, body: bytes) -> None:
        self._body += len(body)
        if not self._complete:
            self._take(body)

    def on_message_complete(self) -> None:
        if self._head is not None and not self._complete and self._head.status != 101:
            assert self._parser is not None
            self._complete = True
            self._keeps = self._keeps and self._parser.should_keep_alive()
