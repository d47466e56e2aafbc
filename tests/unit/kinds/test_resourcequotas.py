"""A quota that was stored before a validation rule existed can still be changed (kubernetes 142190)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from gateway.kinds.strategies.resourcequotas import strategies
from gateway.kinds.write_context import WriteContext
from gateway.release.release import DEFAULT_GATES

STRATEGIES: Any = strategies(DEFAULT_GATES.enabled)
WRONG = "1500m"  # it counts pods, and is not a whole number of them
STORED: dict[str, Any] = {
    "metadata": {"name": "q", "namespace": "n", "resourceVersion": "7"},
    "spec": {"hard": {"pods": WRONG, "cpu": "1"}},
    "status": {"hard": {"cpu": "1"}, "used": {"pods": "-1"}},
}


def told(subresource: str, new: dict[str, Any]) -> list[str]:
    """The fields of what is wrong with an update of the stored quota."""
    context: WriteContext = object()  # type: ignore[assignment]  # no rule of quotas looks at it
    return [error.field for error in STRATEGIES[subresource].validate_update(new, STORED, context)]


def changed(**paths: Any) -> dict[str, Any]:
    new = deepcopy(STORED)
    for path, value in paths.items():
        member, _, field = path.partition("_")
        new[member][field] = value
    return new


def test_what_is_stored_is_not_judged_again() -> None:
    assert told("", changed(metadata_labels={"a": "b"})) == []
    assert told("", changed(spec_hard={"pods": "1.5", "cpu": "2"})) == []
    assert told("status", changed(status_hard={"pods": WRONG, "cpu": "1"})) == []
    assert told("status", changed(status_used={"pods": "-1", "cpu": "1"})) == []


@pytest.mark.parametrize(
    ("subresource", "new", "field"),
    [
        ("", changed(spec_hard={"pods": "2500m", "cpu": "1"}), "spec.hard[pods]"),
        ("", changed(spec_hard={"pods": WRONG, "services": WRONG}), "spec.hard[services]"),
        ("", changed(spec_hard={"pods": WRONG, "cpus": "1"}), "spec.hard[cpus]"),
        ("status", changed(status_hard={"pods": "-2"}), "status.hard[pods]"),
        ("status", changed(status_used={"pods": "-2"}), "status.used[pods]"),
    ],
)
def test_what_an_update_brings_is_judged(subresource: str, new: dict[str, Any], field: str) -> None:
    assert field in told(subresource, new)


def test_a_new_quota_is_judged() -> None:
    context: WriteContext = object()  # type: ignore[assignment]
    assert [error.field for error in STRATEGIES[""].validate(STORED, context)] == ["spec.hard[pods]"]
