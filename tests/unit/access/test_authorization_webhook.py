"""Metrics of authorization webhooks tell why an evaluation failed, and only failed calls are counted as failed open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gateway.access.authorization_conditions import compiled_condition
from gateway.access.authorization_webhook import EVALUATIONS, FAILED_OPEN, WebhookAuthorizer, WebhookSettings
from gateway.access.remote import RemoteError
from gateway.http.request_info import request_info
from gateway.http.user import User
from gateway.kinds.attributes import Attributes
from gateway.release.gates import Gates
from gateway.release.minors import DEFAULT


class Away:
    """A service that cannot be called."""

    def __init__(self, error: RemoteError) -> None:
        self._error = error

    async def ask(self, review: object) -> object:
        raise self._error


async def evaluate(name: str, error: RemoteError, *conditions: str, denies: bool = False) -> None:
    remote: Any = Away(error)
    settings = WebhookSettings(Path(), "v1", 1, 0, 0, denies, conditions, name)
    programs = [compiled_condition(each, Gates(DEFAULT).enabled) for each in conditions]
    verdict = await WebhookAuthorizer(remote, settings, programs).authorize(
        Attributes(User("ada"), request_info("GET", "/version", {}))
    )
    assert verdict.error


def counted(family: Any, name: str) -> dict[str, float]:
    return {result: child.value for (of, result), child in family.children() if of == name}


@pytest.mark.parametrize(("timed_out", "result"), [(True, "timeout"), (False, "error")])
async def test_a_failed_call_is_counted_by_its_cause(timed_out: bool, result: str) -> None:
    await evaluate(f"open-{result}", RemoteError("away", timed_out=timed_out))
    await evaluate(f"closed-{result}", RemoteError("away", timed_out=timed_out), denies=True)
    for name in ("open", "closed"):
        assert counted(EVALUATIONS, f"{name}-{result}") == {result: 1}
    assert counted(FAILED_OPEN, f"open-{result}") == {result: 1}
    assert counted(FAILED_OPEN, f"closed-{result}") == {}


async def test_an_error_of_a_condition_is_no_call() -> None:
    await evaluate("unasked", RemoteError("away"), "request.resourceAttributes.namespace == 'a'")
    assert counted(EVALUATIONS, "unasked") == counted(FAILED_OPEN, "unasked") == {}
