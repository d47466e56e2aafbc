"""Writes raw JSON (RawExtension) with sorted keys, as Go's conversion from a map to a struct does.

Strategic merge patch and server-side apply convert the whole object so, unchanged fields too. Other writes keep the
bytes that the client sent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.jsontypes import dumps
from gateway.schema.errors import Marks
from gateway.schema.structural import as_go_numbers
from gateway.schema.types import Type, TypeKind, compiled

Rewrite = Callable[[Any], Any]
_RAW = ("runtime.RawExtension", "v1.JSON")


def rewritten(type_: Type, value: Any) -> Any:
    """The value with sorted keys and Go's numbers in its raw JSON. Returns `value` itself where nothing changes."""
    rewrite = _rewriter(type_)
    return value if rewrite is None else rewrite(value)


def _compile(type_: Type) -> Rewrite | None:
    """Returns None for a type whose values hold no raw JSON."""
    if type_.kind is TypeKind.ANY and type_.name in _RAW:
        return _unless_in_order
    if type_.kind is TypeKind.STRUCT:
        members = {field.name: rewrite for field in type_.fields.values() if (rewrite := _rewriter(field.type))}
        return _members(members) if members else None
    element = _rewriter(type_.elem) if type_.elem is not None and type_.kind in (TypeKind.LIST, TypeKind.MAP) else None
    if element is None:
        return None
    return _each(element) if type_.kind is TypeKind.LIST else _entries(element)


_rewriter = compiled(_compile, meanwhile=lambda type_: lambda value: rewritten(type_, value))


def _unless_in_order(value: Any) -> Any:
    made = _in_order(value)
    return value if dumps(made) == dumps(value) else made


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(each) for each in value] if isinstance(value, list) else as_go_numbers(value, Marks())


def _members(members: dict[str, Rewrite]) -> Rewrite:
    def rewrite(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        new = {name: members[name](value[name]) for name in members if value.get(name)}
        return {**value, **new} if any(new[name] is not value[name] for name in new) else value

    return rewrite


def _each(element: Rewrite) -> Rewrite:
    def rewrite(values: Any) -> Any:
        if not isinstance(values, list):
            return values
        new = list(map(element, values))
        return new if any(one is not other for one, other in zip(new, values, strict=True)) else values

    return rewrite


def _entries(element: Rewrite) -> Rewrite:
    def rewrite(values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        new = {key: element(value) for key, value in values.items()}
        return new if any(new[key] is not values[key] for key in new) else values

    return rewrite
