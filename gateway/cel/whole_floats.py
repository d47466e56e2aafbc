"""Whole floats (3.0) where a schema wants integers: valid by the schema, but an error when a rule reads them.

kube-apiserver accepts such a value and stores an integer, but a rule that reads it in the same write fails. Separate
programs evaluate objects with such values, so that other objects are not slowed down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.cel.types import CelType, Kind
from gateway.cel.values import EvaluationError, Optional
from gateway.jsontypes import JsonObject, Whole

Holds = Callable[[Any], bool]
_NO_INTEGER = "invalid data, expected int, got float64"
_NEITHER = "invalid data, expected XIntOrString value to be either a string or integer"


def refuse(value: Any, of: CelType) -> Any:
    """Returns the value. Raises EvaluationError for a whole float; int-or-string fields (dyn) get another message."""
    found = value.value if type(value) is Optional else value
    if type(found) is Whole:
        raise EvaluationError(_NEITHER if of.kind is Kind.DYN else _NO_INTEGER)
    return value


def finder(schema: JsonObject) -> Holds | None:
    """A function that tells whether a value has whole floats for integers; None if the schema has no integers."""
    if schema.get("x-kubernetes-int-or-string") or schema.get("type") == "integer":
        return _is_whole
    items, additional = schema.get("items"), schema.get("additionalProperties")
    if isinstance(items, dict):
        return _in_list(finder(items))
    below = {name: finder(each) for name, each in (schema.get("properties") or {}).items()}
    members = {name: found for name, found in below.items() if found is not None}
    return _in_object(members, finder(additional) if isinstance(additional, dict) else None)


def _is_whole(value: Any) -> bool:
    return type(value) is Whole


def _in_list(found: Holds | None) -> Holds | None:
    return None if found is None else lambda value: type(value) is list and any(map(found, value))


def _in_object(members: dict[str, Holds], others: Holds | None) -> Holds | None:
    if not members and others is None:
        return None
    integers = [name for name, found in members.items() if found is _is_whole]
    deeper = [(name, found) for name, found in members.items() if found is not _is_whole]

    def holds(value: Any) -> bool:
        if type(value) is not dict:
            return False
        if others is not None:
            return any(map(others, value.values()))
        get = value.get
        for name in integers:
            if type(get(name)) is Whole:
                return True
        return any(found(get(name)) for name, found in deeper)

    return holds
