"""Declarative rules look only where a checked member is present."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.validation import declared_rules
from gateway.validation.declared_checks import minimum
from gateway.validation.declared_rules import DeclaredRules, errors_beside

RULES = (DeclaredRules("spec.template.spec.priority?", (minimum(0),)),)


def errors(spec: Any, old: Any = None) -> list[str]:
    before = None if old is None else {"spec": {"template": {"spec": old}}}
    return [each.field for each in errors_beside(RULES, [], {"spec": {"template": {"spec": spec}}}, before)]


def test_a_present_member_is_checked_unless_it_stays() -> None:
    assert errors({"priority": -1, "other": 1}) == ["spec.template.spec.priority"]
    assert errors({"priority": -1}, {"other": 2}) == ["spec.template.spec.priority"]
    assert errors({"priority": -1, "other": 1}, {"priority": -1}) == []
    assert errors({"priority": 0}) == errors({}) == errors(None) == []


def test_an_object_without_the_member_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def compared(*_: object) -> bool:
        raise AssertionError("it takes as long as the object is large")

    monkeypatch.setattr(declared_rules, "same", compared)
    assert errors({"containers": [1]}, {"containers": [2]}) == []
