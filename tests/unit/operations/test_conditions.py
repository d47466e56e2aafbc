"""Conditional requests for documents are answered as by kube-apiserver 1.36.3."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.operations.conditions import unmet

BEFORE, AFTER = "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2099 07:28:00 GMT"
MADE = 1_700_000_000.5


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        *(("GET", {"if-none-match": each}, 304) for each in ('"t"', 'W/"t"', "*", '"a", "t"')),
        *(("GET", {"if-none-match": each}, 0) for each in ("t", '"a"', "")),
        ("HEAD", {"if-none-match": '"t"'}, 304),
        ("POST", {"if-none-match": '"t"'}, 412),
        *(("GET", {"if-match": each}, 412) for each in ('"a"', 'W/"t"', "t")),
        *(("GET", {"if-match": each}, 0) for each in ('"t"', "*")),
        ("GET", {"if-modified-since": AFTER}, 304),
        ("GET", {"if-modified-since": BEFORE}, 0),
        ("GET", {"if-modified-since": "yesterday"}, 0),
        ("POST", {"if-modified-since": AFTER}, 0),
        ("GET", {"if-unmodified-since": BEFORE}, 412),
        ("GET", {"if-unmodified-since": AFTER}, 0),
        ("GET", {"if-none-match": '"a"', "if-modified-since": AFTER}, 0),
        ("GET", {"if-match": '"t"', "if-unmodified-since": BEFORE}, 0),
    ],
)
def test_conditions(method: str, headers: dict[str, str], status: int) -> None:
    request: Any = SimpleNamespace(method=method, headers=headers)
    answer = unmet(request, {"etag": '"t"'}, "application/json", MADE)
    assert (0 if answer is None else answer.status_code) == status


def test_a_document_without_a_tag_has_a_time() -> None:
    request: Any = SimpleNamespace(method="GET", headers={"if-modified-since": AFTER, "if-none-match": ""})
    answer = unmet(request, {}, "text/plain", MADE)
    assert answer is not None and answer.headers["last-modified"] == "Tue, 14 Nov 2023 22:13:20 GMT"
