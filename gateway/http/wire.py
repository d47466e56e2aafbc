"""Answers to invalid requests, which never reach a handler, and helpers to read a request's head."""

from __future__ import annotations

import re
from http import HTTPStatus

_VERSIONS = frozenset({"1.0", "1.1"})
_bad_in_host = re.compile(rb"[^!$%&()*+,\-.:;=\[\]'_~0-9A-Za-z]").search  # as golang.org/x/net/http/httpguts
_between_tokens = re.compile(rb"[ ,\t]+").split

EXPECTATION_FAILED = b"HTTP/1.1 417 Expectation Failed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


def words_of(status: HTTPStatus, why: str = "") -> bytes:
    """A complete error answer in plain text, as Go's net/http sends it for a request that never reaches a handler."""
    text = f"{status.value} {status.phrase}{': ' if why else ''}{why}".encode()
    return b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n%b" % (text, text)


def refusal_of(version: str, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Go's answer to a head that is not valid in HTTP/1.0 or 1.1; b"" for a valid one.

    `headers` must contain all Host, Transfer-Encoding and Expect headers; others are ignored.
    """
    if version not in _VERSIONS:
        return words_of(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "unsupported protocol version")
    hosts, coded, expects = 0, False, None
    for name, value in headers:
        if name == b"host":
            hosts += 1
            if _bad_in_host(value):
                return words_of(HTTPStatus.BAD_REQUEST, "malformed Host header")
        elif name == b"transfer-encoding":
            if version == "1.0":  # a proxy may have read another length: RFC 9112, 6.1
                return words_of(HTTPStatus.BAD_REQUEST, "Transfer-Encoding in HTTP/1.0")
            if coded or value.strip().lower() != b"chunked":
                return words_of(HTTPStatus.NOT_IMPLEMENTED)
            coded = True
        elif name == b"expect" and expects is None:  # Go, too, looks only at the first
            expects = value
    if not hosts and version == "1.1":
        return words_of(HTTPStatus.BAD_REQUEST, "missing required Host header")
    if hosts > 1:
        return words_of(HTTPStatus.BAD_REQUEST)
    return EXPECTATION_FAILED if expects and not expects_continue(expects) else b""


def expects_continue(value: bytes) -> bool:
    """Whether an Expect header asks for `100 Continue`. Every other expectation fails (RFC 9110, 10.1.1)."""
    return any(token.lower() == b"100-continue" for token in _between_tokens(value))


def path_of(target: bytes) -> bytes:
    """The path of a request target that does not begin with "/": of a whole URL. Other forms, an authority or an
    asterisk, are returned unchanged.
    """
    _, scheme, rest = target.partition(b"://")
    if not scheme:
        return target
    return b"/" + rest.partition(b"/")[2]


def host_of(target: bytes) -> bytes:
    """The host, with its port, of a request target that is a whole URL; b"" for another form. It counts in place of the
    header Host (RFC 9112, 3.2.2).
    """
    _, scheme, rest = target.partition(b"://")
    return rest.partition(b"/")[0].rpartition(b"@")[2] if scheme else b""


def size_of_head(target: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    """The size of a request's head in bytes, roughly."""
    return len(target) + sum(len(name) + len(value) + 4 for name, value in headers)
