"""Answers to invalid requests, which never reach a handler, and helpers to read a request's head."""

from __future__ import annotations

import re
from http import HTTPStatus

_VERSIONS = frozenset({"1.0", "1.1"})
_bad_in_host = re.compile(rb"[^!$%&()*+,\-.:;=\[\]'_~0-9A-Za-z]").search  # as golang.org/x/net/http/httpguts


def words_of(status: HTTPStatus, why: str = "") -> bytes:
    """A complete error answer in plain text, as Go's net/http sends it for a request that never reaches a handler."""
    text = f"{status.value} {status.phrase}{': ' if why else ''}{why}".encode()
    return b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n%b" % (text, text)


def refusal_of(version: str, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Go's answer to a head that is not valid in HTTP/1.0 or 1.1; b"" for a valid one.

    `headers` must contain all Host and Transfer-Encoding headers; others are ignored.
    """
    if version not in _VERSIONS:
        return words_of(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "unsupported protocol version")
    hosts, coded = 0, False
    for name, value in headers:
        if name == b"host":
            hosts += 1
            if _bad_in_host(value):
                return words_of(HTTPStatus.BAD_REQUEST, "malformed Host header")
        elif name == b"transfer-encoding":
            if coded or value.strip().lower() != b"chunked":
                return words_of(HTTPStatus.NOT_IMPLEMENTED)
            coded = True
    if not hosts and version == "1.1":
        return words_of(HTTPStatus.BAD_REQUEST, "missing required Host header")
    return words_of(HTTPStatus.BAD_REQUEST) if hosts > 1 else b""


def path_of(target: bytes) -> bytes:
    """The path of a request target that does not begin with "/": of a whole URL. Other forms, an authority or an
    asterisk, are returned unchanged.
    """
    _, scheme, rest = target.partition(b"://")
    if not scheme:
        return target
    return b"/" + rest.partition(b"/")[2]


def size_of_head(target: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    """The size of a request's head in bytes, roughly."""
    return len(target) + sum(len(name) + len(value) + 4 for name, value in headers)
