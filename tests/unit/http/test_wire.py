"""Heads of requests that are refused before a handler sees them."""

from __future__ import annotations

import pytest

from gateway.http.scope import scope_of
from gateway.http.wire import refusal_of

HOST, CHUNKED = (b"host", b"a"), (b"transfer-encoding", b"chunked")


@pytest.mark.parametrize(
    ("version", "headers", "status"),
    [
        ("1.1", [HOST, CHUNKED], b""),
        ("1.1", [HOST, CHUNKED, CHUNKED], b"501"),
        ("1.0", [], b""),
        ("1.0", [CHUNKED], b"400"),  # a proxy may have ended the request elsewhere
        ("1.1", [HOST, HOST], b"400"),
        ("1.1", [], b"400"),
        ("2.0", [HOST], b"505"),
    ],
)
def test_refusals(version: str, headers: list[tuple[bytes, bytes]], status: bytes) -> None:
    assert refusal_of(version, headers)[9:12] == status


@pytest.mark.parametrize(
    ("target", "host", "path"),
    [
        (b"/api?a=b", b"a", b"/api"),
        (b"https://b:6443/api?a=https://c/", b"b:6443", b"/api"),
        (b"http://u@b", b"b", b"/"),
        (b"https:///api", b"a", b"/api"),
        (b"/https://b/api", b"a", b"/https://b/api"),
    ],
)
def test_the_host_of_a_whole_url_counts_in_place_of_the_header(target: bytes, host: bytes, path: bytes) -> None:
    scope = scope_of("GET", target, "1.1", [(b"accept", b"c"), HOST], ends=(None, None), chain=None)
    assert [value for name, value in scope["headers"] if name == b"host"] == [host]
    assert scope["raw_path"] == path and (b"accept", b"c") in scope["headers"]
