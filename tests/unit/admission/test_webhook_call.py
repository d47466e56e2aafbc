"""A webhook's denial as the answer to the client."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.admission.webhooks.webhook_call import _denial
from gateway.http.status import StatusError

PREFIX = 'admission webhook "hook.example.com" denied the request'


def denial(**status: Any) -> StatusError:
    hook: Any = SimpleNamespace(name="hook.example.com")
    found: Any = SimpleNamespace(status=status)
    return _denial(hook, found)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"message": "no", "reason": "Because"}, ": no"),
        ({"message": "", "reason": "Because"}, ": Because"),
        ({"reason": "Because"}, ": Because"),
        ({}, " without explanation"),
    ],
)
def test_a_denial_says_its_message_or_else_its_reason(status: Any, said: str) -> None:
    assert denial(**status).message == PREFIX + said


@pytest.mark.parametrize(
    ("code", "answered"),
    [(None, 400), (0, 400), (200, 400), (399, 400), (400, 400), (401, 401), (999, 999), (1000, 400)],
)
def test_the_code_of_a_denial_is_that_of_a_failure(code: Any, answered: int) -> None:
    assert denial(code=code).code == answered


@pytest.mark.parametrize(
    ("details", "headers"),
    [
        (None, ()),
        ({"name": "n"}, ()),
        ({"retryAfterSeconds": 0}, ()),
        ({"retryAfterSeconds": -1}, ()),
        ({"retryAfterSeconds": 1}, ((b"retry-after", b"1"),)),
    ],
)
def test_a_denial_tells_when_to_come_back_if_that_is_later(details: Any, headers: Any) -> None:
    assert tuple(denial(details=details).headers) == headers
