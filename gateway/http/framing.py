"""Frames answers: the lines of the head, and the chunks of a body of unknown length (RFC 9112, 7.1)."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.http.engine import STATUS_LINE
from gateway.http.exchange import Header

LAST = b"0\r\n\r\n"
_MOST = 1000  # cached beginnings of heads
_CONTROLS = bytes(code for code in (*range(32), 127) if code != 9)  # not allowed in a header's value


class Framing:
    """Frames the answers of all connections of a server. Lines and chunks that many answers share are framed once."""

    __slots__ = ("_chunk", "_default", "_framed", "_known")

    def __init__(self) -> None:
        self._chunk = self._framed = b""
        self._default: Sequence[Header] = ()
        self._known: dict[tuple[int, tuple[Header, ...]], bytes] = {}

    def frame(self, chunk: bytes) -> bytes:
        """A chunk, which must not be empty, in chunked encoding. The last result is kept: many watches get the same
        chunk.
        """
        if chunk is not self._chunk:
            self._chunk, self._framed = chunk, b"%x\r\n%b\r\n" % (len(chunk), chunk)
        return self._framed

    def first_lines(self, status: int, default: Sequence[Header], headers: tuple[Header, ...]) -> bytes:
        """The lines of the status, of the `default` headers, and of headers that recur in other answers; cached.

        `default` is a new list each second, which clears the cache. Raises ValueError for a control character in a
        header.
        """
        if default is not self._default or len(self._known) > _MOST:
            self._default = default
            self._known.clear()
        found = self._known.get((status, headers))
        if found is None:
            found = self._known[status, headers] = status_line(status) + lines_of((*default, *headers))
        return found


def lines_of(headers: Sequence[Header]) -> bytes:
    """The lines of headers, each with its line end. Raises ValueError for a control character in a header."""
    lines = list[bytes]()
    for name, value in headers:
        lines += (name, b": ", value, b"\r\n")
    said = b"".join(lines)
    if len(said) - len(said.translate(None, _CONTROLS)) != 2 * len(headers):
        raise ValueError("Invalid HTTP header value.")
    return said


def status_line(status: int) -> bytes:
    """The status line of an answer. Codes without a standard name are possible: a webhook may refuse with any code."""
    return STATUS_LINE.get(status) or b"HTTP/1.1 %d status code %d\r\n" % (status, status)
