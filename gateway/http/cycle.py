"""One request and its answer on a connection, and the framing of the answer: bytes, a stream, or a tunnel.

uvicorn's cycle receives the request. The answer is framed here: sending head and body in one write halves the time.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from gateway.http.engine import RequestResponseCycle
from gateway.http.event import Event
from gateway.http.exchange import Header
from gateway.http.flow import TransportFlow
from gateway.http.framing import LAST, Framing, lines_of, status_line
from gateway.http.messages import ABORT, POUR, RESET, REST, TUNNEL, WHOLE, PlainHeaders
from gateway.http.tunnel import ClientEnd

SWITCHING = 101
_BODILESS = frozenset({204, 304, SWITCHING})
_WORTH_JOINING = 1 << 16  # bytes of a body; larger ones are written separately, to save the copy
AT_ONCE = 1 << 15  # bytes of one write: TLS keeps a buffer as large as the largest, and larger ones miss the CPU caches
_NO_LINGER = struct.pack("ii", 1, 0)  # SO_LINGER of 0 seconds: closing the socket sends a TCP RST
_END = b"\r\n"
_RESTING = {"type": "http", "method": "GET"}  # replaces the scope of a request while its answer rests


class ClientConnection(Protocol):
    """The connection of a request."""

    def rest(self) -> None:
        """The answer rests, maybe for long: the connection frees the memory of the request."""
        ...


class Cycle(RequestResponseCycle):
    """One request and its answer.

    The head of an answer waits for the first part of the body, so that both leave in one write and one TLS record. It
    waits at most until the next turn of the event loop.
    """

    __slots__ = (
        "_bodiless",
        "_go_on",
        "_head",
        "_rests",
        "body",
        "chunked_encoding",
        "connection",
        "default_headers",
        "disconnected",
        "expected_content_length",
        "flow",
        "framing",
        "keep_alive",
        "logger",
        "message_event",
        "more_body",
        "on_response",
        "response_complete",
        "response_started",
        "scope",
        "switch",
        "task",
        "tasks",
        "transport",
        "waiting_for_100_continue",
    )

    connection: ClientConnection | None  # told when the answer rests
    _go_on: Any  # called as the ASGI application when a resting answer is woken
    task: asyncio.Task[None]  # the task in which the application answers
    tasks: set[asyncio.Task[None]]  # the tasks of all requests; the server waits for them when it stops

    def __init__(
        self,
        scope: Any,
        transport: asyncio.Transport,
        flow: TransportFlow,
        logger: logging.Logger,
        framing: Framing,
        default_headers: list[Header],
        expect_100_continue: bool,
        keep_alive: bool,
    ) -> None:
        """Sets the attributes of uvicorn's cycle. All are slots, to save memory: an idle connection keeps its last one.

        `on_response` and `connection`, which refer back to the connection, are set when the answer begins.
        """
        self.scope, self.transport, self.flow, self.logger = scope, transport, flow, logger  # type: ignore[assignment]
        self.framing, self.default_headers = framing, default_headers
        self.on_response: Callable[[], None] = _nothing
        self.connection: ClientConnection | None = None
        self.message_event = Event()  # type: ignore[assignment]  # it has the methods of asyncio.Event that are used
        self.disconnected, self.keep_alive, self.waiting_for_100_continue = False, keep_alive, expect_100_continue
        self.body, self.more_body = bytearray(), True
        self.response_started = self.response_complete = False
        self.chunked_encoding: bool | None = None
        self.expected_content_length = 0
        self.switch: Callable[[], ClientEnd] | None = None  # turns the connection into a tunnel
        self._go_on, self._rests = None, False
        self._head, self._bodiless = b"", False

    async def send(self, message: Any) -> None:
        """ASGI's send. Raises RuntimeError for a message in the wrong order and for headers that HTTP forbids."""
        kind = message["type"]
        if kind == WHOLE and self._answered(message):
            return
        if kind == RESET:
            self._reset()
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if self.response_complete or self.response_started == (kind in (WHOLE, "http.response.start")):
            raise RuntimeError(f"Unexpected ASGI message '{kind}'.")
        if kind == "http.response.start":
            self._start(message["status"], message.get("headers", ()))
        elif kind == "http.response.body":
            self._say(message.get("body", b""), message.get("more_body", False))
        elif kind == ABORT:
            self.keep_alive = False
            self._finish()
        elif kind == POUR:
            self._rests = message.get("rests", False)
            message["take"](self)
        elif kind == REST:
            self._rest(message["go_on"])
        elif kind == TUNNEL:
            self._flush()
            assert self.switch is not None
            message["client"] = self.switch()
        else:
            self._start(message["status"], (*message.get("recurring", ()), *message["headers"]))
            self._say(message["body"], more=False)

    def pour(self, chunk: bytes) -> bool:
        """Writes a chunk of the body, which must not be empty. Returns False, and writes nothing, while the client does
        not read, and when the connection or the answer has ended.
        """
        if self.flow.write_paused or self.disconnected or self.response_complete or not self.chunked_encoding:
            return False
        self._write(self.framing.frame(chunk))
        return True

    def may_rest(self) -> bool:
        """See Sink."""
        return self._rests and not (
            self.more_body or self.disconnected or self.response_complete or self.flow.write_paused
        )

    def wake(self) -> None:
        """Continues a resting answer in a new task."""
        going_on, self._go_on = self._go_on, None
        if going_on is not None:
            self.task = asyncio.get_running_loop().create_task(self.run_asgi(going_on))
            self.tasks.add(self.task)

    def lose(self) -> None:
        """See Answering."""
        if not self.response_complete:
            self.disconnected = True

    def leave(self) -> None:
        """See Answering."""
        self.message_event.set()
        self.wake()

    def _rest(self, going_on: Any) -> None:
        self._go_on, self.scope = going_on, _RESTING  # type: ignore[assignment]
        if self.connection is not None:
            self.connection.rest()

    def _start(self, status: int, headers: Sequence[Header]) -> None:
        """Frames the head; it is sent together with the next message."""
        self.response_started = True
        self.waiting_for_100_continue = False
        switching = status == SWITCHING
        self._bodiless = status in _BODILESS or self.scope["method"] == "HEAD"
        try:
            head, said_close = [status_line(status), lines_of((*self.default_headers, *headers))], False
        except ValueError as error:
            self.response_started = False
            raise RuntimeError(str(error)) from None
        for name, value in headers:
            if name == b"content-length" and self.chunked_encoding is None:
                self.expected_content_length, self.chunked_encoding = int(value), False
            elif name == b"connection" and not switching:
                said_close = said_close or b"close" in value.lower()
        self.keep_alive = self.keep_alive and not said_close and not switching
        if not self.keep_alive and not said_close and not switching:
            head.append(b"connection: close\r\n")
        if self.chunked_encoding is None:
            self.chunked_encoding = not self._bodiless
            if self.chunked_encoding:
                head.append(b"transfer-encoding: chunked\r\n")
        head.append(_END)
        self._head = b"".join(head)
        asyncio.get_running_loop().call_soon(self._flush)

    def _say(self, body: bytes, more: bool) -> None:
        """Sends a part of the body; `more` says whether another part follows."""
        if self._bodiless:
            self.expected_content_length = 0
        elif self.chunked_encoding:
            framed = self.framing.frame(body) if body else b""
            self._write(framed if more else framed + LAST)
        else:
            self.expected_content_length -= len(body)
            if self.expected_content_length < 0:
                raise RuntimeError("Response content longer than Content-Length")
            self._write(body)
        if not more:
            if self.expected_content_length:
                raise RuntimeError("Response content shorter than Content-Length")
            self._finish()

    def _finish(self) -> None:
        self._flush()
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    def _reset(self) -> None:
        """Resets the connection (TCP RST): the client's read fails."""
        connected = self.transport.get_extra_info("socket")
        if connected is not None:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        self.disconnected, self.keep_alive, self._head = True, False, b""
        self.message_event.set()
        self.transport.abort()

    def _write(self, data: bytes) -> None:
        if self._head:
            head, self._head = self._head, b""
            if len(data) > _WORTH_JOINING:
                self.transport.write(head)
            else:
                data = head + data
        if data:
            self._write_out(data)

    def _write_out(self, data: bytes) -> None:
        if len(data) <= AT_ONCE:
            self.transport.write(data)
            return
        whole = memoryview(data)
        for start in range(0, len(data), AT_ONCE):
            self.transport.write(whole[start : start + AT_ONCE])

    def _flush(self) -> None:
        if self._head:
            self._write(b"")

    def _answered(self, message: Any) -> bool:
        """Sends a WHOLE answer in one write. Returns False, and sends nothing, for the cases that `send` handles: HEAD
        requests, a client that does not read, Connection headers, invalid headers.
        """
        if self.response_started or self.flow.write_paused or self.disconnected or self.scope["method"] == "HEAD":
            return False
        headers, body = message["headers"], message["body"]
        try:
            said = self.framing.first_lines(message["status"], self.default_headers, message.get("recurring", ()))
            if type(headers) is PlainHeaders:
                (one, text), (other, more) = headers
                said += b"%b: %b\r\n%b: %b\r\n" % (one, text, other, more)
            elif any(name == b"connection" for name, _ in headers):
                return False
            else:
                said += lines_of(headers)
        except ValueError:
            return False
        said += _END if self.keep_alive else b"connection: close\r\n\r\n"
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        if len(body) > _WORTH_JOINING:
            self.transport.write(said)
            self._write_out(body)
        else:
            self.transport.write(said + body)
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True

    async def run_asgi(self, app: Any) -> None:
        """Runs the application. An exception is logged, and answered with 500 if no answer has begun."""
        try:
            await app(self.scope, self.receive, self.send)
        except BaseException as error:
            self.logger.error("Exception in ASGI application", exc_info=error)
            if self.response_started:
                self.transport.close()
            else:
                await self.send_500_response()
        else:
            if not (self.response_complete or self.disconnected or self._go_on is not None):
                self.logger.error("ASGI callable returned without completing response.")
                self.transport.close()
        finally:
            if self._go_on is None:
                self.on_response, self.connection = _nothing, None  # breaks reference cycles, like `del self.task`
            self.tasks.discard(self.task)
            del self.task


def _nothing() -> None:
    """The `on_response` of a cycle whose connection has nothing to do at the end of the answer."""
