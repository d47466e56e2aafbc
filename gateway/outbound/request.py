"""A request to another server, and its bytes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from gateway.outbound.errors import CallError
from gateway.outbound.target import Target
from storage.instruments.trace import trace_headers

Header = tuple[bytes, bytes]

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TOKENS = re.compile(rb"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+\n)*")  # tokens, each followed by a newline
_PATH = re.compile(r"[!-~\x80-\xff]+")
_FORBIDDEN = b"\0\r\n"
_TRACE = frozenset({b"traceparent", b"tracestate"})
_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_USUAL = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})  # these send content-length even if it is 0


@dataclass(slots=True)
class OutboundRequest:
    """One request. `path` is the request target, escaped, with the query. `head` adds the headers for the body's
    framing, and Host: `authority`, or that of the target.

    A body that is an iterator is sent as it comes: with content-length if `length` (bytes) is known, else in chunks.
    `repeatable` says whether the request may be sent again if a kept connection ended before the answer began; for
    None, the method decides. `lines` are more headers, from `lines_of`.
    """

    method: str
    path: str
    headers: Sequence[Header] = ()
    body: bytes | AsyncIterator[bytes] = b""
    length: int | None = None
    authority: str = ""
    repeatable: bool | None = None
    alone: bool = False  # whether it needs a new connection, because it may upgrade it
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
        """The request line and headers. Raises CallError for an invalid method, path or header."""
        method = self.method.encode("latin-1", "replace")
        if self.method not in _USUAL and not _TOKEN.fullmatch(method):
            raise CallError(f'net/http: invalid method "{self.method}"')
        host = self.authority or target.host_header
        if not _PATH.fullmatch(self.path) or not _PATH.fullmatch(host):
            raise CallError("net/url: invalid control character in URL")
        parts = [b"%b %b HTTP/1.1\r\nhost: %b\r\n" % (method, self.path.encode("latin-1"), host.encode("latin-1"))]
        if traced := trace_headers():  # replaces the trace headers of a proxied request's client
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
    """The lines of headers. Raises CallError for an invalid name or value.

    All are checked at once, for speed: a proxied request has a dozen headers.
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
    """The headers of a request, with names in lower case, from a mapping of names to values."""
    return [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in named.items()]
