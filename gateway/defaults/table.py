"""Compiles tables of defaults: one function for each type.

A table maps a path to the value that is set there. The steps of a path are field names:

- `name` at the end: set when the field is absent or zero, as Go sees a plain value ("", 0, false, an empty list)
- `name?` at the end: set only when the field is absent or null, as Go sees a pointer
- `name` on the way: the rest applies only if this field is present
- `name+` on the way: a struct that is always there in Go; made when it is absent
- `name[]`: every element of the list; `name{}`: every value of the map

A callable value is not a default but a rule: it gets the value at the path, and changes it in place. Compiled tables
nest in this way. Within one struct the order is: its defaults, its rules, then the structs below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.jsontypes import JsonObject, dumps, loads

Rule = Callable[[Any], None]
Pairs = tuple[tuple[str, Any], ...]

_WIDE = 6  # from so many optional parts on, a loop over the object's keys is faster than a lookup of each part


@dataclass(slots=True)
class _Node:
    """The entries of a table for one part of an object."""

    zero: dict[str, Any] = field(default_factory=dict)
    absent: dict[str, Any] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    parts: dict[str, _Node] = field(default_factory=dict)  # by step: "name", "name+", "name[]", "name{}"


def compile_table(table: Mapping[str, Any], *rules: Rule) -> Rule:
    """The function that applies `table` to an object in place. `rules` apply to the object itself."""
    root = _Node(rules=list(rules))
    for path, value in table.items():
        _insert(root, path.split("."), value)
    return _compile(root)


def _insert(node: _Node, steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        node = node.parts.setdefault(step, _Node())
    last = steps[-1]
    if callable(value):
        node.parts.setdefault(last, _Node()).rules.append(value)
    elif last.endswith("?"):
        node.absent[last[:-1]] = value
    else:
        node.zero[last] = value


def _compile(node: _Node) -> Rule:
    steps = list(node.rules)
    if node.zero or node.absent:
        steps.insert(0, _setter(_split(node.zero), _split(node.absent)))
    made = tuple((step[:-1], _compile(part)) for step, part in node.parts.items() if step.endswith("+"))
    if made:
        steps.append(_into_made(made))
    optional = tuple(_part(step, part) for step, part in node.parts.items() if not step.endswith("+"))
    if optional:
        steps.append(_into_present(optional) if len(optional) < _WIDE else _into_keys(optional))
    return steps[0] if len(steps) == 1 else _sequence(tuple(steps))


def _part(step: str, node: _Node) -> tuple[str, Rule]:
    apply = _compile(node)
    if step.endswith("[]"):
        return step[:-2], _each(apply)
    if step.endswith("{}"):
        return step[:-2], _each_value(apply)
    return step, apply


def _split(defaults: Mapping[str, Any]) -> tuple[Pairs, Pairs]:
    """Splits defaults into scalars, and lists and objects: those are JSON, since each object needs its own copy."""
    scalars = tuple((key, value) for key, value in defaults.items() if not isinstance(value, (dict, list)))
    copied = tuple((key, dumps(value)) for key, value in defaults.items() if isinstance(value, (dict, list)))
    return scalars, copied


def _setter(zero: tuple[Pairs, Pairs], absent: tuple[Pairs, Pairs]) -> Rule:
    if not (zero[1] or absent[1]):
        if not absent[0]:
            return _scalar_setter(zero[0])
        if not zero[0]:
            return _pointer_setter(absent[0])
    zero_scalars, zero_copied = zero
    absent_scalars, absent_copied = absent

    def apply(obj: JsonObject) -> None:
        for key, value in zero_scalars:
            if not obj.get(key):
                obj[key] = value
        for key, value in absent_scalars:
            if obj.get(key) is None:
                obj[key] = value
        for key, value in zero_copied:
            if not obj.get(key):
                obj[key] = loads(value)
        for key, value in absent_copied:
            if obj.get(key) is None:
                obj[key] = loads(value)

    return apply


def _scalar_setter(pairs: Pairs) -> Rule:
    def apply(obj: JsonObject) -> None:
        for key, value in pairs:
            if not obj.get(key):
                obj[key] = value

    return apply


def _pointer_setter(pairs: Pairs) -> Rule:
    def apply(obj: JsonObject) -> None:
        for key, value in pairs:
            if obj.get(key) is None:
                obj[key] = value

    return apply


def _into_made(parts: tuple[tuple[str, Rule], ...]) -> Rule:
    def apply(obj: JsonObject) -> None:
        for key, rule in parts:
            part = obj.get(key)
            if part is None:
                part = obj[key] = {}
            rule(part)

    return apply


def _into_present(parts: tuple[tuple[str, Rule], ...]) -> Rule:
    def apply(obj: JsonObject) -> None:
        for key, rule in parts:
            part = obj.get(key)
            if part is not None:
                rule(part)

    return apply


def _into_keys(parts: tuple[tuple[str, Rule], ...]) -> Rule:
    rule_of = dict(parts).get

    def apply(obj: JsonObject) -> None:
        for key, part in obj.items():
            rule = rule_of(key)
            if rule is not None and part is not None:
                rule(part)

    return apply


def _each(rule: Rule) -> Rule:
    def apply(items: Iterable[Any]) -> None:
        for item in items:
            rule(item)

    return apply


def _each_value(rule: Rule) -> Rule:
    def apply(values: Mapping[str, Any]) -> None:
        for value in values.values():
            rule(value)

    return apply


def _sequence(rules: tuple[Rule, ...]) -> Rule:
    if len(rules) == 2:
        first, second = rules

        def apply_both(obj: Any) -> None:
            first(obj)
            second(obj)

        return apply_both

    def apply(obj: Any) -> None:
        for rule in rules:
            rule(obj)

    return apply
