"""Names in the details of a refusal: returned as sent, unless too long for any object."""

from __future__ import annotations

from gateway.http.status import conflict, forbidden, not_found


def test_an_ordinary_name_is_repeated() -> None:
    error = not_found("apps", "deployments", "a" * 253)
    assert error.message == f'deployments.apps "{"a" * 253}" not found'
    assert error.details == {"name": "a" * 253, "group": "apps", "kind": "deployments"}


def test_a_name_that_nothing_has_is_cut() -> None:
    long = "\u200b" * 300_000
    for error in (not_found(long, long, long), conflict(long, long, long, ""), forbidden(long, long, long, "")):
        assert len(error.message) < 100_000
        assert error.details is not None and error.details["name"] == "\u200b" * 8192 + "..."
