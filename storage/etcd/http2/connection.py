"""One connection to etcd that carries unary gRPC calls.

It takes a call only if it can send all of it at once (`takes`): the caller has another way for the others. So nothing
waits for a window of flow control.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import cast
from urllib.parse import unquote

from storage.etcd.http2 import answers, frames
from storage.etcd.http2.answers import PREFIX
from storage.etcd.http2.frames import FrameError, Frames, frame
from storage.etcd.http2.headers import decoded

_OK, _UNKNOWN, _DEADLINE, _INTERNAL, _UNAVAILABLE = 0, 2, 4, 13, 14  # status codes of gRPC
_LOOKS = 4  # for signs of life, in the time between two pings
_REFILL = 1 << 30  # received bytes after which the connection's window is opened anew
NOT_BEGUN = "etcd has not begun the call"  # how the details of a call begin that etcd has certainly not seen
LATE = "Deadline Exceeded"


class Failed(Exception):
    """A call failed, with the code and the details of gRPC."""

    def __init__(self, code: int, details: str) -> None:
        super().__init__(details)
        self.code, self.details = code, details


class _Stream:
    """A call that waits for its answer."""

    __slots__ = ("answer", "deadline", "parts")

    def __init__(self, answer: asyncio.Future[bytes], deadline: float) -> None:
        self.answer, self.deadline = answer, deadline
        self.parts: list[bytes] = []


class Http2Connection(asyncio.Protocol):
    """The client's side of a connection. Use it on one event loop."""

    def __init__(self, pings: tuple[int, int]) -> None:
        """`pings`: milliseconds between two pings while calls wait, and for the answer to one."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._every, self._answered = (each / 1000 for each in pings)
        self._frames, self._streams = Frames(), dict[int, _Stream]()
        self._next, self._largest_last = 1, frames.MAX_WINDOW
        self._window = self._of_stream = 0  # bytes that may be sent; none before the server's settings have come
        self._most = 0
        self._greeted = False  # whether the server's first settings have come
        self._received, self._heard = 0, monotonic()  # bytes since the window was opened; when the last ones came
        self._asked = 0.0  # when the last ping was sent
        self._block, self._block_of, self._block_flags = b"", 0, 0  # a header block that goes on
        self._timer: asyncio.TimerHandle | None = None  # for the first deadline
        self._due = float("inf")
        self._ticker: asyncio.TimerHandle | None = None
        self._unsent: list[bytes] = []
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        said = {frames.HEADER_TABLE_SIZE: 0, frames.ENABLE_PUSH: 0, frames.INITIAL_WINDOW_SIZE: frames.MAX_WINDOW}
        more = frame(frames.WINDOW_UPDATE, 0, 0, (frames.MAX_WINDOW - frames.WINDOW).to_bytes(4, "big"))
        self._send(frames.PREFACE + frames.settings(said) + more)
        self._ticker = self._loop.call_later(self._every / _LOOKS, self._tick)

    @property
    def waited_for(self) -> bool:
        """Whether a call waits for its answer."""
        return bool(self._streams)

    def takes(self, size: int) -> bool:
        """Whether a call with a message of `size` bytes can be sent now, as a whole."""
        size += PREFIX
        return size <= self._window and size <= self._of_stream and len(self._streams) < self._most

    def call(self, head: bytes, message: bytes, timeout: float) -> asyncio.Future[bytes]:
        """Sends a call that `takes` allows; `head` is its block of headers. The result is the message of the answer.

        It fails with Failed. A caller that is cancelled cancels the call.
        """
        stream = self._next
        self._next += 2
        answer: asyncio.Future[bytes] = self._loop.create_future()
        deadline = self._loop.time() + timeout
        self._streams[stream] = _Stream(answer, deadline)
        size = len(message) + PREFIX
        self._window -= size
        beginning = frame(frames.HEADERS, frames.END_HEADERS, stream, head)
        if size <= frames.LARGEST:
            self._send(beginning + frames.only_message(stream, message))
        else:
            data, at = b"\0%b%b" % (len(message).to_bytes(4, "big"), message), 0
            self._send(beginning)
            while size - at > frames.LARGEST:
                self._send(frame(frames.DATA, 0, stream, data[at : at + frames.LARGEST]))
                at += frames.LARGEST
            self._send(frame(frames.DATA, frames.END_STREAM, stream, data[at:]))
        if deadline < self._due:
            self._wake_at(deadline)
        if self._next > frames.MAX_WINDOW - 2:
            self._retire(frames.MAX_WINDOW)
        return answer

    def forget(self, answer: asyncio.Future[bytes]) -> None:
        """Cancels a call whose answer is not awaited any more."""
        for stream, each in self._streams.items():
            if each.answer is answer:
                self._reset(stream)
                return

    def close(self) -> None:
        """Ends the connection, and cancels all calls and their callers."""
        self._retire(frames.MAX_WINDOW)
        for each in self._streams.values():
            each.answer.cancel()
        self._streams.clear()
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._heard = monotonic()
        try:
            for each in self._frames.received(data, self._take_answer):
                self._take(*each)
        except FrameError as error:
            self._end(f"etcd's answer can't be read: {error}")

    def eof_received(self) -> None:
        self._retire(frames.MAX_WINDOW)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end("Connection reset" if exc is None else str(exc))

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if self._block_of and (kind != frames.CONTINUATION or stream != self._block_of):
            raise FrameError("another frame is within a header block")
        match kind:
            case frames.DATA:
                self._take_data(flags, stream, payload)
            case frames.HEADERS | frames.CONTINUATION:
                self._take_block(kind, flags, stream, payload)
            case frames.WINDOW_UPDATE:
                if stream == 0:
                    self._window += frames.number(payload)
            case frames.SETTINGS:
                if not flags & frames.ACK:
                    self._take_settings(frames.read_settings(payload))
            case frames.PING:
                if not flags & frames.ACK:
                    self._send(frame(frames.PING, frames.ACK, 0, payload))
            case frames.GOAWAY:
                self._retire(frames.number(payload))
            case frames.RST_STREAM:
                begun = frames.number(payload) != frames.REFUSED
                self._fail(stream, _UNAVAILABLE, "Stream removed" if begun else NOT_BEGUN)
            case frames.PUSH_PROMISE:
                raise FrameError("the server promises what was not asked for")

    def _take_data(self, flags: int, stream: int, payload: bytes) -> None:
        if flags & frames.PADDED:
            raise FrameError("a frame is padded")
        self._count(len(payload))
        found = self._streams.get(stream)
        if found is not None:
            found.parts.append(payload)
            if flags & frames.END_STREAM:
                self._fail(stream, _INTERNAL, "an answer has no status")

    def _count(self, received: int) -> None:
        """Counts bytes of data, and opens the window anew after many."""
        self._received += received
        if self._received > _REFILL:
            self._send(frame(frames.WINDOW_UPDATE, 0, 0, self._received.to_bytes(4, "big")))
            self._received = 0

    def _take_answer(self, data: bytes, at: int) -> int:
        """Ends a call whose usual answer begins at `at`; returns where that ends. Returns 0 if there is none."""
        usual = None if self._block_of else answers.answer_at(data, at)
        if usual is None:
            return 0
        stream, message, end = usual
        found = self._streams.get(stream)
        if found is None or found.parts:
            return 0
        self._count(PREFIX + len(message))
        del self._streams[stream]
        if not found.answer.done():
            found.answer.set_result(message)
        return end

    def _take_block(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if flags & (frames.PADDED | frames.PRIORITY) and kind == frames.HEADERS:
            raise FrameError("a frame is padded")
        if kind == frames.CONTINUATION:
            if not self._block_of or len(self._block) > frames.LARGEST:
                raise FrameError("a header block goes on too long")
            payload, flags = self._block + payload, flags | self._block_flags
        if not flags & frames.END_HEADERS:
            self._block, self._block_of, self._block_flags = payload, stream, flags
            return
        self._block, self._block_of = b"", 0
        fields = decoded(payload)
        if flags & frames.END_STREAM:
            self._end_call(stream, fields)
        elif (status := fields.get(":status", "200")) != "200":
            self._reset(stream, _UNAVAILABLE, f"HTTP status {status}")

    def _end_call(self, stream: int, fields: dict[str, str]) -> None:
        """Ends a call whose trailers have come."""
        found = self._streams.get(stream)
        if found is None:
            return
        code = fields.get("grpc-status", "")
        if code != "0":
            details = unquote(fields.get("grpc-message", "")) if code else f"HTTP status {fields.get(':status')}"
            known = code.isascii() and code.isdigit() and len(code) < 4
            # without a status, a proxy may have passed the call on: its outcome is unknown
            self._fail(stream, int(code) if known else _UNAVAILABLE, details)
            return
        message = found.parts[0] if len(found.parts) == 1 else b"".join(found.parts)
        if message[:1] != b"\0" or int.from_bytes(message[1:PREFIX], "big") != len(message) - PREFIX:
            self._fail(stream, _INTERNAL, "the answer is not exactly one message")
            return
        del self._streams[stream]
        if not found.answer.done():
            found.answer.set_result(message[PREFIX:])

    def _take_settings(self, given: dict[int, int]) -> None:
        if not self._greeted:
            self._greeted = True
            self._window += frames.WINDOW
            self._of_stream, self._most = frames.WINDOW, frames.MAX_WINDOW
        self._of_stream = given.get(frames.INITIAL_WINDOW_SIZE, self._of_stream)
        self._most = given.get(frames.MAX_CONCURRENT_STREAMS, self._most)
        if self.lost:
            self._most = 0
        self._send(frame(frames.SETTINGS, frames.ACK, 0, b""))

    def _fail(self, stream: int, code: int, details: str) -> None:
        found = self._streams.pop(stream, None)
        if found is not None and not found.answer.done():
            found.answer.set_exception(Failed(code, details))

    def _reset(self, stream: int, code: int = _UNKNOWN, details: str = "") -> None:
        self._send(frame(frames.RST_STREAM, 0, stream, frames.CANCEL.to_bytes(4, "big")))
        self._fail(stream, code, details)

    def _retire(self, last: int) -> None:
        """Takes no more calls; those after stream `last` have not begun."""
        self.lost, self._most = True, 0
        for stream in [stream for stream in self._streams if stream > last]:
            self._fail(stream, _UNAVAILABLE, NOT_BEGUN)
        if not self._streams and self._transport is not None:
            self._flush()
            self._transport.close()

    def _end(self, why: str) -> None:
        """Ends the connection at once."""
        self.lost, self._most = True, 0
        for timer in (self._timer, self._ticker):
            if timer is not None:
                timer.cancel()
        self._timer = self._ticker = None
        for stream in list(self._streams):
            self._fail(stream, _UNAVAILABLE, why)
        if self._transport is not None:
            self._transport.abort()

    def _wake_at(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due, self._timer = deadline, self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        """Ends the calls whose deadline is over. One timer is enough for all: most have the same timeout."""
        self._due, self._timer, now = float("inf"), None, self._loop.time()
        for stream in [stream for stream, each in self._streams.items() if each.deadline <= now]:
            self._reset(stream, _DEADLINE, LATE)
        if self._streams:
            self._wake_at(min(each.deadline for each in self._streams.values()))

    def _tick(self) -> None:
        """Asks for a sign of life if calls wait and nothing has come for a while."""
        self._ticker = self._loop.call_later(self._every / _LOOKS, self._tick)
        now = monotonic()
        if self._streams and now - self._heard > self._every:
            if self._asked <= self._heard:  # etcd ends connections on which pings follow each other too fast
                self._asked = now
                self._send(frame(frames.PING, 0, 0, bytes(8)))
            elif now - self._asked > self._answered:
                self._end("keepalive watchdog timeout")
        elif self.lost and not self._streams and self._transport is not None:
            self._transport.close()

    def _send(self, data: bytes) -> None:
        """Sends a frame together with all others of this iteration of the event loop: a system call costs more."""
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(data)

    def _flush(self) -> None:
        data = b"".join(self._unsent)
        self._unsent.clear()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
