"""uvicorn's cycle of a request and its answer, which takes an answer that is whole in one message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from gateway.http.coalescing_transport import Corked
from gateway.http.engine import STATUS_LINE, RequestResponseCycle
from gateway.http.exchange import Header
from gateway.http.pouring import Sink
from gateway.http.websocket import SWITCHING, Incoming

WHOLE = "http.response.whole"
"""An ASGI extension: a message of this type is an answer's status, headers (with the length) and all of its body."""
POUR = "http.response.pour"
"""Another, which may come with it: a message of this type has in `take` who is given a sink for the body's chunks."""
EXTENSIONS: dict[str, dict[str, object]] = {WHOLE: {}, POUR: {}}

_CONTROLS = bytes(code for code in (*range(32), 127) if code != 9)  # none of them may be in a header's value
_COLON, _END = b": ", b"\r\n"


class Cycle(RequestResponseCycle):
    """One request and its answer. An answer in two messages costs twice what one costs.

    `incoming` takes what the client sends once its connection is a WebSocket.
    """

    incoming: Incoming | None = None

    async def send(self, message: Any) -> None:
        """ASGI's send; raises RuntimeError for messages out of turn and for headers that HTTP forbids."""
        if message["type"] == POUR:
            message["take"](Sink(self))
        elif self.incoming is not None or message.get("status") == SWITCHING:
            await self._send_switched(message)
        elif message["type"] != WHOLE:
            await super().send(message)
        elif not self._answered(message["status"], message["headers"], message["body"]):
            await super().send(message | {"type": "http.response.start"})
            await super().send({"type": "http.response.body", "body": message["body"]})

    async def _send_switched(self, message: Any) -> None:
        """Sends what is no HTTP any more after its head: as it is, until the connection ends."""
        if self.incoming is None:
            self.keep_alive, self.chunked_encoding = True, False  # no header is to be added
            await super().send(message)
            self.keep_alive = False
            self.incoming = Incoming(self.transport.write, self.transport.close)
            return
        self.expected_content_length = len(message.get("body", b""))
        await super().send(message)

    def pour(self, data: bytes) -> bool:
        """Writes a part of the body, framed; False when it has to wait, or is of no use any more."""
        if self.flow.write_paused or self.disconnected or self.response_complete or not self.chunked_encoding:
            return False
        self.transport.write(data)
        return True

    def _answered(self, status: int, headers: Sequence[Header], body: bytes) -> bool:
        """Says all at once; False for what has to be looked at more closely."""
        if self.response_started or self.flow.write_paused or self.disconnected or self.access_log:
            return False
        head = [STATUS_LINE[status]]
        for name, value in self.default_headers:
            head += (name, _COLON, value, _END)
        for name, value in headers:
            if name == b"connection":
                return False
            head += (name, _COLON, value, _END)
        head.append(_END if self.keep_alive else b"connection: close\r\n\r\n")
        said = b"".join(head)
        ends = len(self.default_headers) + len(headers) + (2 if self.keep_alive else 3)
        if len(said) - len(said.translate(None, _CONTROLS)) != 2 * ends or self.scope["method"] == "HEAD":
            return False
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        cast(Corked, self.transport).write_answer(said, body)
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True
