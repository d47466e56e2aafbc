"""Heads of requests that are refused before a handler sees them."""

from __future__ import annotations

import pytest

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
