"""uvicorn's HTTP/1.1 protocol, but for two things: methods that its parser does not know get an answer like all others,
and a client that keeps its connection without reading from it does not hold up the end of the server."""

from __future__ import annotations

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_STAND_IN = b"TRACE"  # a method that the parser takes and nothing serves
_FAREWELL = 0.5  # seconds that a client has to say goodbye


class Protocol(HttpToolsProtocol):
    """Serves any method: the application sees it in the scope, and answers 405."""

    _unknown_method = ""

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
