"""One request and its answer on a connection, and the framing of the answer: bytes, a stream, or a tunnel.

uvicorn's cycle receives the request. The answer is framed here, because head and body in one write take half the time.
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
from gateway.http.flow import FlowControl
from gateway.http.framing import LAST, Framing, lines_of, status_line
from gateway.http.messages import ABORT, POUR, RESET, REST, TUNNEL, WHOLE, PlainHeaders
from gateway.http.tunnel import ClientEnd

SWITCHING = 101
_BODILESS = frozenset({204, 304, SWITCHING})
_WORTH_JOINING = 1 << 16  # bytes of a body: larger ones are not copied behind their head
AT_ONCE = 1 << 15  # bytes: TLS keeps a buffer as large as the largest write, and the processor caches do not
_NO_LINGER = struct.pack("ii", 1, 0)  # a linger of no time: what closes such a socket resets the connection
_END = b"\r\n"
_RESTING = {"type": "http", "method": "GET"}  # the scope of a request whose answer rests


class Connection(Protocol):
    """What a request came on."""

    def rest(self) -> None:
        """The answer goes on by itself, for long: what its request took is not needed any more."""
        ...


class Cycle(RequestResponseCycle):
    """One request and its answer.

    A head waits for the first part of the body, at most until the loop's next turn, so that both leave in one write and
    one TLS record.
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

    connection: Connection | None  # is told when the answer rests
    _go_on: Any  # what is called as the application when it does so no more
    task: asyncio.Task[None]  # in which the application answers
    tasks: set[asyncio.Task[None]]  # those of all requests, for which the server's stop waits

    def __init__(
        self,
        scope: Any,
        transport: asyncio.Transport,
        flow: FlowControl,
        logger: logging.Logger,
        framing: Framing,
        default_headers: list[Header],
        expect_100_continue: bool,
        keep_alive: bool,
    ) -> None:
        """Sets what uvicorn's sets: all of it in slots, since a connection that waits for long keeps its last one. What
        leads back to the connection is set when the answer begins.
        """
        self.scope, self.transport, self.flow, self.logger = scope, transport, flow, logger  # type: ignore[assignment]
        self.framing, self.default_headers = framing, default_headers
        self.on_response: Callable[[], None] = _nothing
        self.connection: Connection | None = None
        self.message_event = Event()  # type: ignore[assignment]  # which has what is used of asyncio's
        self.disconnected, self.keep_alive, self.waiting_for_100_continue = False, keep_alive, expect_100_continue
        self.body, self.more_body = bytearray(), True
        self.response_started = self.response_complete = False
        self.chunked_encoding: bool | None = None
        self.expected_content_length = 0
        self.switch: Callable[[], ClientEnd] | None = None  # has the connection be a tunnel
        self._go_on, self._rests = None, False
        self._head, self._bodiless = b"", False

    async def send(self, message: Any) -> None:
        """ASGI's send; raises RuntimeError for messages out of turn and for headers that HTTP forbids."""
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
        """Writes a part of the body that is not empty; False when it has to wait, or is of no use any more."""
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
        """Has the answer go on in a task, if it rests."""
        going_on, self._go_on = self._go_on, None
        if going_on is not None:
            self.task = asyncio.get_running_loop().create_task(self.run_asgi(going_on))
            self.tasks.add(self.task)

    def leave(self) -> None:
        """The connection is lost."""
        if not self.response_complete:
            self.disconnected = True
        self.message_event.set()
        self.wake()

    def _rest(self, going_on: Any) -> None:
        self._go_on, self.scope = going_on, _RESTING  # type: ignore[assignment]
        if self.connection is not None:
            self.connection.rest()

    def _start(self, status: int, headers: Sequence[Header]) -> None:
        """Frames the head, which leaves with what follows it."""
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
        """Sends a part of the body, or the last."""
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
        """Says all at once; False for what has to be looked at more closely."""
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
        """Has the application answer. What it raises is logged, and answered where that is possible."""
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
                self.on_response, self.connection = _nothing, None  # they lead back here, as the task does
            self.tasks.discard(self.task)
            del self.task


def _nothing() -> None:
    """What is called where a connection has nothing more to do for a request."""
