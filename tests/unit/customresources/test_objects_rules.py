"""How long validation rules may block the event loop, and that defaults must pass them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.customresources.objects import VersionRules
from gateway.kinds.identity import GroupVersionKind
from gateway.kinds.strategies.customresourcedefinitions import _rules_of
from gateway.release.release import DEFAULT_GATES
from gateway.time_limits import TakesLong
from gateway.validation.definition_schema import validate_schema
from gateway.validation.field import FieldError, invalid, required
from gateway.writing.offload import offloaded

GVK = GroupVersionKind("e.com", "v1", "Thing")
COSTLY = "self.all(a, self.all(b, self.all(c, c >= 0 && a + b + c < 1000000)))"


class Attributes:
    """What validation asks of a write's context."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.warn = self.warnings.extend
        self.metadata_errors: list[FieldError] = []


def rules_of(spec: dict[str, Any]) -> VersionRules:
    return VersionRules(
        GVK, {"type": "object", "properties": {"spec": spec}}, {}, terminating=False, enabled=DEFAULT_GATES.enabled
    )


def thing(spec: Any) -> dict[str, Any]:
    return {"apiVersion": "e.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}


def validate(rules: VersionRules, spec: Any) -> list[str]:
    return [str(error) for error in rules.strategy().validate(thing(spec), Attributes())]  # type: ignore[arg-type]


async def on_loop(rules: VersionRules, spec: Any) -> list[str]:
    return validate(rules, spec)


def test_rules_that_cost_much_are_evaluated_in_a_thread() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [{"rule": COSTLY}]}
    rules, costly = rules_of(numbers), list(range(35))
    with pytest.raises(TakesLong):
        asyncio.run(on_loop(rules, costly))
    assert validate(rules, costly) == asyncio.run(offloaded(0, lambda: validate(rules, costly))) == []
    assert asyncio.run(on_loop(rules, [1, 2])) == []


def test_big_schemas_and_long_rules_are_compiled_in_a_thread() -> None:
    many = {f"p{n}": {"type": "string", "maxLength": 3} for n in range(500)}
    long = " && ".join(f"self.p{n} != 'no'" for n in range(150))
    members = {f"p{n}": {"type": "string"} for n in range(150)}
    big = rules_of({"type": "object", "properties": many})
    ruled = rules_of({"type": "object", "properties": members, "x-kubernetes-validations": [{"rule": long}]})
    for rules in (big, ruled):
        with pytest.raises(TakesLong):
            asyncio.run(on_loop(rules, {}))
        found = validate(rules, {})
        assert bool(found) is (rules is ruled)
        assert asyncio.run(on_loop(rules, {})) == found  # it is compiled by now


def defaults(spec: dict[str, Any]) -> dict[str, str]:
    schema = {"type": "object", "properties": {"spec": spec}}
    return {
        error.field: error.body for error in validate_schema(schema, "s", False, _rules_of(None, DEFAULT_GATES.enabled))
    }


@pytest.mark.parametrize(
    ("spec", "field", "body"),
    [
        (
            {"type": "integer", "default": 1, "x-kubernetes-validations": [{"rule": "self > 1", "message": "more"}]},
            "s.properties[spec].default",
            "Invalid value: 1: more",
        ),
        (
            {
                "type": "string",
                "default": "a",
                "x-kubernetes-validations": [
                    {"rule": "oldSelf.hasValue()", "optionalOldSelf": True, "reason": "FieldValueForbidden"}
                ],
            },
            "s.properties[spec].default",
            "Forbidden: failed rule: oldSelf.hasValue()",
        ),
        (
            {"type": "string", "default": "a", "x-kubernetes-validations": [{"rule": "self.x"}]},
            "s.properties[spec].default",
            "Invalid value: \"string\": rule compile error: compilation failed: ERROR: <input>:1:5: type 'string' does "
            "not support field selection\n | self.x\n | ....^",
        ),
        (
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "default": {"kind": "A"},
            },
            "s.properties[spec].default.apiVersion",
            "Required value",
        ),
        (
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {
                    "metadata": {
                        "type": "object",
                        "properties": {"name": {"type": "string", "default": "a"}},
                        "default": {"labels": {"a": 1}},
                    }
                },
            },
            "s.properties[spec].properties[metadata].default",
            'Invalid value: {"labels":{"a":1}}: must result in valid metadata: metadata: Invalid value: '
            '{"labels":{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
        ),
    ],
)
def test_defaults_have_to_be_valid(spec: dict[str, Any], field: str, body: str) -> None:
    assert defaults(spec) == {field: body}


def test_rules_are_not_compiled_for_their_own_sake_while_a_default_is_wrong() -> None:
    spec = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "minimum": 1, "default": 0},
            "b": {"type": "string", "x-kubernetes-validations": [{"rule": "self.x"}]},
        },
    }
    assert list(defaults(spec)) == ["s.properties[spec].properties[a].default"]


def test_rules_are_not_asked_of_an_object_whose_metadata_lacks_something() -> None:
    rules = rules_of({"type": "object", "x-kubernetes-validations": [{"rule": "false", "message": "never"}]})
    given = Attributes()
    for error, told in ((required("metadata.name"), "were not checked"), (invalid("metadata.name", "A", ""), "never")):
        given.metadata_errors = [error]
        found = rules.strategy().validate(thing({}), given)  # type: ignore[arg-type]
        assert len(found) == 1 and told in found[0].body


def test_rules_are_not_asked_of_an_object_whose_check_came_to_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its types were not all checked: a rule could meet a text where its schema has a number."""
    monkeypatch.setattr("gateway.validation.effort.MOST_EFFORT", 10)
    rules = rules_of(
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {"type": "string", "anyOf": [{"minLength": 2}] * 100}}},
            "x-kubernetes-validations": [{"rule": "false", "message": "never"}],
        }
    )
    found = [error.body for error in rules.strategy().validate(thing({"a": ["x"]}), Attributes())]  # type: ignore[arg-type]
    assert len(found) == 2 and "steps" in found[0] and "were not checked" in found[1]


def test_a_status_that_is_null_where_there_was_none_has_not_changed() -> None:
    schema = {"type": "object", "properties": {"status": {"type": "object"}}}
    rules = VersionRules(GVK, schema, {"status": {}}, terminating=False, enabled=DEFAULT_GATES.enabled).strategy(
        "status"
    )
    one = {**thing({}), "metadata": {"name": "a", "resourceVersion": "1"}}
    other = {**one, "status": {}}
    assert rules.validate_update({**one, "status": None}, one, Attributes()) == []  # type: ignore[arg-type]
    assert len(rules.validate_update({**one, "status": None}, other, Attributes())) == 1  # type: ignore[arg-type]
