"""A request to another server, and its bytes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from gateway.outbound.errors import CallError
from gateway.outbound.target import Target
from storage.instruments.timing import trace_headers

Header = tuple[bytes, bytes]

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TOKENS = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+\n)*")  # each followed by a line's end
_PATH = re.compile(r"[!-~\x80-\xff]+")
_FORBIDDEN = b"\0\r\n"
_TRACE = frozenset({b"traceparent", b"tracestate"})
_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_USUAL = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})  # of which the length is told, though it be 0


@dataclass(slots=True)
class OutboundRequest:
    """One request. `path` is the request's target, escaped, with its query. The framing of the body is added,
    and Host: the target's if no other `authority` is given.

    A body that is an iterator is sent as it comes: with the length `length` in bytes where that is known, else in
    chunks. `repeatable` says whether the request may be sent again when a kept connection ended before the answer
    began; where it is None, the method decides. `lines` are more headers, as `lines_of` writes them.
    """

    method: str
    path: str
    headers: Sequence[Header] = ()
    body: bytes | AsyncIterator[bytes] = b""
    length: int | None = None
    authority: str = ""
    repeatable: bool | None = None
    alone: bool = False  # on a connection of its own, as what may upgrade it
    lines: bytes = b""

    @property
    def may_repeat(self) -> bool:
        if not isinstance(self.body, bytes):
            return False
        return self.method in _REPEATABLE if self.repeatable is None else self.repeatable

    @property
    def is_chunked(self) -> bool:
        return not isinstance(self.body, bytes) and self.length is None

    def head(self, target: Target) -> bytes:
        """The request line and headers. Raises CallError for what would not be one request."""
        method = self.method.encode("latin-1", "replace")
        if self.method not in _USUAL and not _TOKEN.fullmatch(method):
            raise CallError(f'net/http: invalid method "{self.method}"')
        host = self.authority or target.host_header
        if not _PATH.fullmatch(self.path) or not _PATH.fullmatch(host):
            raise CallError("net/url: invalid control character in URL")
        parts = [b"%b %b HTTP/1.1\r\nhost: %b\r\n" % (method, self.path.encode("latin-1"), host.encode("latin-1"))]
        if traced := trace_headers():  # instead of those that a client gave, where its request is passed on
            named = headers_of(dict(traced))
            headers: Sequence[Header] = [*(each for each in self.headers if each[0].lower() not in _TRACE), *named]
        else:
            headers = self.headers
        parts += (lines_of(headers), self.lines)
        if isinstance(self.body, bytes):
            if self.body or self.method in _WITH_BODY:
                parts.append(b"content-length: %d\r\n" % len(self.body))
        elif self.length is None:
            parts.append(b"transfer-encoding: chunked\r\n")
        else:
            parts.append(b"content-length: %d\r\n" % self.length)
        parts.append(b"\r\n")
        return b"".join(parts)


def lines_of(headers: Sequence[Header]) -> bytes:
    """The lines of headers. Raises CallError for what would not be one header.

    All are looked at in one go: a request that is passed on has a dozen of them.
    """
    said = b"".join([b"%b: %b\r\n" % header for header in headers])
    names = b"".join([name + b"\n" for name, _ in headers])
    if _TOKENS.fullmatch(names) and len(said) - len(said.translate(None, _FORBIDDEN)) == 2 * len(headers):
        return said
    bad = next(
        name for name, value in headers if not _TOKEN.fullmatch(name) or value.translate(None, _FORBIDDEN) != value
    )
    raise CallError(f"net/http: invalid header field {bad.decode('latin-1')!r}")


def headers_of(named: Mapping[str, str]) -> list[Header]:
    """Headers by their names, as a request has them."""
    return [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in named.items()]
