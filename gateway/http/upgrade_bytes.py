"""The bytes after a request for an upgrade: they belong to the tunnel if the answer is 101, otherwise they are HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gateway.http.tunnel import ClientEnd, TunnelFlow

_MUCH, _MOST = 16 << 10, 256 << 10  # kept bytes above which reading is paused, and the connection is aborted
_FRAMING = (b"content-length", b"transfer-encoding")


def without_wish(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A request head with the framing headers of `headers` only, so that the parser reads the body but no upgrade."""
    framing = (b"%b: %b\r\n" % header for header in headers if header[0] in _FRAMING)
    return b"POST / HTTP/1.1\r\n" + b"".join(framing) + b"\r\n"


class Upgrading:
    """Keeps received bytes until the request for an upgrade is answered. With status 101 they go to the tunnel."""

    def __init__(self, transport: asyncio.Transport, flow: TunnelFlow) -> None:
        self._transport, self._flow = transport, flow
        self._kept = b""
        self._end: ClientEnd | None = None

    @property
    def switched(self) -> bool:
        """Whether the connection is a tunnel."""
        return self._end is not None

    def take(self, data: bytes) -> None:
        """Receives bytes from the client."""
        if self._end is not None:
            self._end.take(data)
            return
        self._kept += data
        if len(self._kept) > _MOST:
            self._transport.abort()
        elif len(self._kept) > _MUCH:
            self._flow.pause_reading()

    def switch(self) -> ClientEnd:
        """Turns the connection into a tunnel; returns its client's end."""
        self._end = ClientEnd(self._transport, self._flow)
        self._flow.resume_reading()
        if kept := self.kept():
            self._end.take(kept)
        return self._end

    def kept(self) -> bytes:
        """Returns the kept bytes and forgets them."""
        kept, self._kept = self._kept, b""
        return kept

    def end(self) -> None:
        """Ends the tunnel, if there is one: the client is gone, or the server stops."""
        if self._end is not None:
            self._end.end()
