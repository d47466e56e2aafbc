"""Values that are plain JSON in expressions, without the types of their schema.

The `oldSelf` of a rule with optionalOldSelf is such a value: kube-apiserver unwraps the optional to the raw JSON. Its
properties have unescaped names, not `a__dash__b`. Its times, durations, bytes and numbers are JSON values.
"""

from __future__ import annotations

from typing import Any

from gateway.cel.schema_types import SchemaDeclaration
from gateway.cel.values import register


class RawMap(dict[str, Any]):
    """An object or map as plain JSON."""

    __slots__ = ()


register(RawMap, "map")


def raw(value: Any) -> Any:
    """A copy of a JSON value with all objects in it as RawMaps."""
    if isinstance(value, dict):
        return RawMap({name: raw(each) for name, each in value.items()})
    return [raw(each) for each in value] if isinstance(value, list) else value


def differs_raw(declared: SchemaDeclaration | None) -> bool:
    """Whether plain JSON differs from the CEL value for some values of a type (other names, or converted scalars)."""
    if declared is None or declared.special:
        return declared is not None
    if declared.element is not None:
        return differs_raw(declared.element)
    fields = declared.fields or {}
    return any(written != name or differs_raw(below) for written, (name, below) in fields.items())
