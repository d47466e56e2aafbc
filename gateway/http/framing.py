"""How a body of unknown length is framed (RFC 9112, 7.1)."""

from __future__ import annotations

LAST = b"0\r\n\r\n"


class Chunking:
    """Frames chunks, and remembers the last one: what many connections are told is framed once."""

    __slots__ = ("_chunk", "_framed")

    def __init__(self) -> None:
        self._chunk = self._framed = b""

    def frame(self, chunk: bytes) -> bytes:
        """A chunk that is not empty, as it goes over the connection."""
        if chunk is not self._chunk:
            self._chunk, self._framed = chunk, b"%x\r\n%b\r\n" % (len(chunk), chunk)
        return self._framed
