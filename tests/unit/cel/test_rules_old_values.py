"""Rules with optionalOldSelf: the old value that they see, which in kube-apiserver is its JSON."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.cel.rules import compile_schema

NUMBER, TIME = {"type": "number"}, {"type": "string", "format": "date-time"}
PART = {"type": "object", "properties": {"x-y": {"type": "integer"}, "p": {"type": "integer"}, "t": TIME}}
PROPERTIES = {
    "a-b": {"type": "integer"},
    "c": {"type": "integer"},
    "t": TIME,
    "d": {"type": "string", "format": "duration"},
    "n": NUMBER,
    "o": PART,
    "l": {"type": "array", "maxItems": 3, "items": PART},
    "k": {"type": "array", "maxItems": 3, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["p"]}
    | {"items": {**PART, "required": ["p"]}},
    "m": {"type": "object", "maxProperties": 3, "additionalProperties": PART},
}
MOMENT = "2020-01-01T00:00:00Z"
OLD: dict[str, Any] = {
    "a-b": 1, "c": 2, "t": MOMENT, "d": "1s", "n": 1, "o": {"x-y": 1, "p": 3, "t": MOMENT}, "l": [{"x-y": 1, "p": 3}],
    "k": [{"p": 3, "x-y": 1}], "m": {"z": {"p": 3, "x-y": 1}},
}  # fmt: skip


def told(rule: str, schema: dict[str, Any], value: Any, old: Any, **more: Any) -> list[str]:
    rules = compile_schema({**schema, "x-kubernetes-validations": [{"rule": rule, **more}]}, root=False)
    assert rules is not None
    return [error.body for error in rules.validate(value, old)[0]]


def of_an_object(rule: str, old: Any = OLD, **more: Any) -> list[str]:
    return told(rule, {"type": "object", "properties": PROPERTIES}, OLD, old, **more)


@pytest.mark.parametrize(
    "rule",
    [
        "oldSelf.?c.orValue(7) == 2",
        "!oldSelf.?a__dash__b.hasValue()",
        "oldSelf.?a__dash__b.orValue(7) == 7",
        "!has(oldSelf.a__dash__b)",
        "oldSelf.?o.value().p == 3",
        "!oldSelf.?o.?x__dash__y.hasValue()",
        "!has(oldSelf.?o.value().x__dash__y)",
        "oldSelf.?l.value().all(each, each.p == 3)",
        "oldSelf.?t.value() != self.t",
        "oldSelf.?d.value() != duration('1s')",
        "type(oldSelf.?n.value()) == int",
        "oldSelf.?n.value() == self.n",
        "oldSelf.?n.value() < 2.0",
        "oldSelf.?o.value() != self.o",
        "oldSelf.?l.value() == self.l",
        "oldSelf.?k.value() == self.k && self.k == oldSelf.?k.value()",
        "oldSelf.?m.value() == self.m",
        "self.a__dash__b == 1 && self.t.getFullYear() == 2020",
    ],
)
def test_the_old_value_is_its_json(rule: str) -> None:
    assert of_an_object(f"({rule}) || oldSelf.hasValue() && false", optionalOldSelf=True) == []


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("oldSelf.value().a__dash__b == 1", "no such key: a__dash__b"),
        ("oldSelf.optMap(old, old.a__dash__b).orValue(7) == 1", "no such key: a__dash__b"),
        ("dyn(oldSelf.value()).a__dash__b == 1", "no such key: a__dash__b"),
        ("(self.c == 2 ? oldSelf.?o.value() : self.o).x__dash__y == 1", "no such key: x__dash__y"),
        ("oldSelf.?k.value()[0].x__dash__y == 1", "no such key: x__dash__y"),
        ("oldSelf.?n.value() / 2.0 == 0.5", "'no such overload'"),
        ("oldSelf.?t.value().getFullYear() == 2020", "'no such overload: getFullYear(string)'"),
    ],
)
def test_what_the_schema_says_of_it_does_not_hold(rule: str, why: str) -> None:
    (body,) = of_an_object(rule, optionalOldSelf=True)
    assert body.startswith(f'Invalid value: "object": {why}')


def test_messages_see_the_same() -> None:
    shown = "oldSelf.hasValue() ? string(oldSelf.?a__dash__b.orValue(7)) : ''"
    assert of_an_object("false", optionalOldSelf=True, messageExpression=shown) == ["Invalid value: 7"]


@pytest.mark.parametrize(
    "rule", ["oldSelf.a__dash__b == 1", "oldSelf.t == self.t", "oldSelf.n / 2.0 == 0.5", "oldSelf.l[0].x__dash__y == 1"]
)
def test_an_old_value_that_has_to_be_there_is_what_the_schema_says(rule: str) -> None:
    assert of_an_object(rule) == []


def test_so_is_one_that_has_no_parts() -> None:
    assert told("oldSelf.value() == self", TIME, MOMENT, "2020-01-01T00:00:00.0Z", optionalOldSelf=True) == []
    assert told("oldSelf.value() / 2.0 == 0.5", NUMBER, 1, 1, optionalOldSelf=True) == []
    times = {"type": "array", "maxItems": 3, "items": TIME}
    assert told("oldSelf.value()[0] != self[0]", times, [MOMENT], [MOMENT], optionalOldSelf=True) == []
