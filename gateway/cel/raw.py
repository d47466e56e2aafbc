"""Values that rules see as plain JSON, without the types of their schema.

This is the old value of a rule with optionalOldSelf: kube-apiserver unwraps the optional to the raw JSON. There
properties have their own names, not the escaped ones (`a__dash__b`), and times, durations, bytes and numbers are JSON.
"""

from __future__ import annotations

from typing import Any

from gateway.cel.schema_types import Declared
from gateway.cel.values import register


class RawMap(dict[str, Any]):
    """An object or map as its JSON."""

    __slots__ = ()


register(RawMap, "map")


def raw(value: Any) -> Any:
    """The value with all objects in it as their JSON."""
    if isinstance(value, dict):
        return RawMap({name: raw(each) for name, each in value.items()})
    return [raw(each) for each in value] if isinstance(value, list) else value


def differs_raw(declared: Declared | None) -> bool:
    """Whether some values of a type are others when they are seen as their JSON."""
    if declared is None or declared.special:
        return declared is not None
    if declared.element is not None:
        return differs_raw(declared.element)
    fields = declared.fields or {}
    return any(written != name or differs_raw(below) for written, (name, below) in fields.items())
