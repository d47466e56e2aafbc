"""How an answer is framed: the lines of its head, and a body of unknown length (RFC 9112, 7.1)."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.http.engine import STATUS_LINE
from gateway.http.exchange import Header

LAST = b"0\r\n\r\n"
_MOST = 1000  # first lines of heads that are remembered
_CONTROLS = bytes(code for code in (*range(32), 127) if code != 9)  # none of them may be in a header's value


class Framing:
    """Frames what connections of one server say, and remembers what comes again, so that it is framed once."""

    __slots__ = ("_chunk", "_default", "_framed", "_known")

    def __init__(self) -> None:
        self._chunk = self._framed = b""
        self._default: Sequence[Header] = ()
        self._known: dict[tuple[int, tuple[Header, ...]], bytes] = {}

    def frame(self, chunk: bytes) -> bytes:
        """A chunk that is not empty, as it goes over the connection. Many connections are told the same one."""
        if chunk is not self._chunk:
            self._chunk, self._framed = chunk, b"%x\r\n%b\r\n" % (len(chunk), chunk)
        return self._framed

    def first_lines(self, status: int, default: Sequence[Header], headers: tuple[Header, ...]) -> bytes:
        """The status line, `default`, which is another list each second, and headers that come again.

        Raises ValueError for what HTTP forbids.
        """
        if default is not self._default or len(self._known) > _MOST:
            self._default = default
            self._known.clear()
        found = self._known.get((status, headers))
        if found is None:
            found = self._known[status, headers] = status_line(status) + lines_of((*default, *headers))
        return found


def lines_of(headers: Sequence[Header]) -> bytes:
    """Headers as they go over the connection. Raises ValueError for a value with a control character."""
    lines = list[bytes]()
    for name, value in headers:
        lines += (name, b": ", value, b"\r\n")
    said = b"".join(lines)
    if len(said) - len(said.translate(None, _CONTROLS)) != 2 * len(headers):
        raise ValueError("Invalid HTTP header value.")
    return said


def status_line(status: int) -> bytes:
    """The first line of an answer; the code may have no name. Webhooks refuse with whatever code they like."""
    return STATUS_LINE.get(status) or b"HTTP/1.1 %d status code %d\r\n" % (status, status)
