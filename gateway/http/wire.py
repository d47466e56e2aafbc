"""What is said and read on a connection where there is no request to answer."""

from __future__ import annotations

from http import HTTPStatus


def words_of(status: HTTPStatus) -> bytes:
    """A whole answer in plain text, as Go's net/http gives it to what never reaches a handler."""
    text = f"{status.value} {status.phrase}".encode()
    return b"HTTP/1.1 %b\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\r\n%b" % (text, text)


def path_of(target: bytes) -> bytes:
    """The path of a request's target in one of the rarer forms: a whole URL, an authority, an asterisk."""
    _, scheme, rest = target.partition(b"://")
    if not scheme:
        return target
    return b"/" + rest.partition(b"/")[2]


def size_of_head(target: bytes, headers: list[tuple[bytes, bytes]]) -> int:
    """About as many bytes as a request's head had."""
    return len(target) + sum(len(name) + len(value) + 4 for name, value in headers)
