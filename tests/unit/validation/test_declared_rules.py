"""Declarative rules look only where a checked member is present."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.kinds.declared_rules import RULES as ALL
from gateway.validation import declared_rules
from gateway.validation.declared_checks import minimum
from gateway.validation.declared_rules import NEW, Declaration, DeclaredRules, errors_beside

RULES = Declaration([DeclaredRules("spec.template.spec.priority?", (minimum(0),))])


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


DECLARATIONS = [Declaration(rules) for rules in ALL.values()]
NAMES = sorted({name.strip("?{}[]=") for each in DECLARATIONS for rule in each for name in rule.path.split(".")})
LEAVES = st.sampled_from([None, "", "x", 0, -1, [], {}])
OBJECTS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
)


@given(st.sampled_from(DECLARATIONS), st.dictionaries(st.sampled_from(["spec", "status", *NAMES]), OBJECTS), OBJECTS)
def test_an_object_without_checked_members_has_no_errors(rules: Declaration, obj: Any, old: Any) -> None:
    if not rules.root.has_nothing(obj):
        return
    for before in (NEW, {}, {"spec": old, "status": old} if isinstance(old, dict) else {}):
        found: list[Any] = []
        rules.root.judge(obj, before, "", found)
        assert found == []
