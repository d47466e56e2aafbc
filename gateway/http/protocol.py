"""uvicorn's HTTP/1.1 protocol, but for three things: methods that its parser does not know get an answer like all
others, a client that keeps its connection without reading from it does not hold up the end of the server, and an
answer's head leaves together with its body.
"""

from __future__ import annotations

import asyncio
from typing import cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_STAND_IN = b"TRACE"  # a method that the parser takes and nothing serves
_FAREWELL = 0.5  # seconds that a client has to say goodbye
_HEAD = b"HTTP/1."
_WORTH_JOINING = 1 << 16  # bytes of a body


class Corked:
    """A transport that keeps an answer's head until the body follows, at most until the loop's next turn.

    One write makes one TLS record and one system call.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._head = b""
        self._write = transport.write
        self.is_closing, self.abort = transport.is_closing, transport.abort
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading
        self.get_extra_info = transport.get_extra_info

    def write(self, data: bytes) -> None:
        if self._head:
            if len(data) > _WORTH_JOINING:
                self._flush()
                self._write(data)
            else:
                head, self._head = self._head, b""
                self._write(head + data)
        elif data.startswith(_HEAD):
            self._head = data
            self._loop.call_soon(self._flush)
        else:
            self._write(data)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._write(head)


class Protocol(HttpToolsProtocol):
    """Serves any method: the application sees it in the scope, and answers 405."""

    _unknown_method = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(cast(asyncio.Transport, Corked(transport, self.loop)))

    def data_received(self, data: bytes) -> None:
        try:
            self._unset_keepalive_if_required()
            self.parser.feed_data(data)
        except httptools.HttpParserInvalidMethodError:
            self._feed_in_disguise(data)
        except httptools.HttpParserError:
            self._refuse()
        except httptools.HttpParserUpgrade:
            self._unsupported_upgrade_warning()

    def _feed_in_disguise(self, data: bytes) -> None:
        method, space, rest = data.partition(b" ")
        if not space or not method.isalpha() or self._unknown_method:
            self._refuse()
            return
        self._unknown_method = method.decode("ascii")
        self.parser = httptools.HttpRequestParser(self)
        try:
            self.parser.feed_data(_STAND_IN + space + rest)
        except httptools.HttpParserError:
            self._refuse()
        finally:
            self._unknown_method = ""

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if self._unknown_method:
            self.scope["method"] = self._unknown_method

    def shutdown(self) -> None:
        """Closes the connection once it is idle, whether or not its client answers the end of TLS."""
        super().shutdown()
        self._end_soon()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._end_soon()

    def _end_soon(self) -> None:
        if self.transport.is_closing():
            self.loop.call_later(_FAREWELL, self.transport.abort)

    def _refuse(self) -> None:
        message = "Invalid HTTP request received."
        self.logger.warning(message)
        self.send_400_response(message)
