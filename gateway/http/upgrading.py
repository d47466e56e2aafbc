"""Bytes after a request for an upgrade: they are HTTP, or a tunnel's if the answer is 101."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from gateway.http.tunnel import ClientEnd, Flow

_MUCH, _MOST = 16 << 10, 256 << 10  # bytes that are kept until the connection is read no more, and until it ends
_FRAMING = (b"content-length", b"transfer-encoding")


def without_wish(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """A head that frames the body of a request for an upgrade as its own does, and wishes for nothing."""
    framing = (b"%b: %b\r\n" % header for header in headers if header[0] in _FRAMING)
    return b"POST / HTTP/1.1\r\n" + b"".join(framing) + b"\r\n"


class Upgrading:
    """Keeps what comes until the answer says what it is; then it is the client's end of a tunnel, or was HTTP."""

    def __init__(self, transport: asyncio.Transport, flow: Flow) -> None:
        self._transport, self._flow = transport, flow
        self._kept = b""
        self._end: ClientEnd | None = None

    @property
    def switched(self) -> bool:
        """Whether the connection is a tunnel."""
        return self._end is not None

    def take(self, data: bytes) -> None:
        """Takes bytes that the client sent."""
        if self._end is not None:
            self._end.take(data)
            return
        self._kept += data
        if len(self._kept) > _MOST:
            self._transport.abort()
        elif len(self._kept) > _MUCH:
            self._flow.pause_reading()

    def switch(self) -> ClientEnd:
        """The client's end of the tunnel that the connection is from now on."""
        self._end = ClientEnd(self._transport, self._flow)
        self._flow.resume_reading()
        if kept := self.kept():
            self._end.take(kept)
        return self._end

    def kept(self) -> bytes:
        """What has come meanwhile, once."""
        kept, self._kept = self._kept, b""
        return kept

    def end(self) -> None:
        """The client is gone, or the server stops."""
        if self._end is not None:
            self._end.end()
