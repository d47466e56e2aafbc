"""The bytes of requests to other servers."""

from __future__ import annotations

import pytest

from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target


@pytest.mark.parametrize(
    ("method", "told"), [("GET", False), ("DELETE", False), ("PROPFIND", False), ("POST", True), ("PATCH", True)]
)
def test_the_length_of_no_body_is_told_where_a_body_is_usual(method: str, told: bool) -> None:
    """As Go's client does it."""
    assert (b"content-length: 0\r\n" in OutboundRequest(method, "/").head(Target("h", 1))) is told
