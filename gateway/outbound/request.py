"""What is asked of another server, and its bytes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from gateway.outbound.errors import CallError
from gateway.outbound.target import Target

Header = tuple[bytes, bytes]

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_PATH = re.compile(r"[!-~\x80-\xff]+")
_FORBIDDEN = re.compile(rb"[\0\r\n]")
_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_BODILESS = _REPEATABLE | {"DELETE", "CONNECT"}


@dataclass(slots=True)
class OutboundRequest:
    """One request. `path` is the request's target, escaped, with its query. The framing of the body is added,
    and Host: the target's if no other `authority` is given.

    A body that is an iterator is sent as it comes: with the length `length` in bytes where that is known, else in
    chunks. `repeatable` says whether the request may be sent again when a kept connection ended before the answer
    began; where it is None, the method decides.
    """

    method: str
    path: str
    headers: Sequence[Header] = ()
    body: bytes | AsyncIterator[bytes] = b""
    length: int | None = None
    authority: str = ""
    repeatable: bool | None = None

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
        if not _TOKEN.fullmatch(method):
            raise CallError(f'net/http: invalid method "{self.method}"')
        host = self.authority or target.host_header
        if not _PATH.fullmatch(self.path) or not _PATH.fullmatch(host):
            raise CallError("net/url: invalid control character in URL")
        parts = [b"%b %b HTTP/1.1\r\nhost: %b\r\n" % (method, self.path.encode("latin-1"), host.encode("latin-1"))]
        for name, value in self.headers:
            if not _TOKEN.fullmatch(name) or _FORBIDDEN.search(value):
                raise CallError(f"net/http: invalid header field {name.decode('latin-1')!r}")
            parts.append(b"%b: %b\r\n" % (name, value))
        if isinstance(self.body, bytes):
            if self.body or self.method not in _BODILESS:
                parts.append(b"content-length: %d\r\n" % len(self.body))
        elif self.length is None:
            parts.append(b"transfer-encoding: chunked\r\n")
        else:
            parts.append(b"content-length: %d\r\n" % self.length)
        parts.append(b"\r\n")
        return b"".join(parts)


def headers_of(named: Mapping[str, str]) -> list[Header]:
    """Headers by their names, as a request has them."""
    return [(name.lower().encode("latin-1"), value.encode("latin-1", "replace")) for name, value in named.items()]
