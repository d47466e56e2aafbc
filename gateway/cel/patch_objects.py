"""The values that mutating policies create: `Object{…}` and `JSONPatch{…}`.

The type of a nested object is named by the path of its fields: `Object.spec.template`. An Object may have any field
with any value. Its fields are checked when it is applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gateway.cel.environment import Maker
from gateway.cel.types import DYN, STRING, CelType, Kind
from gateway.cel.values import ConcatenatedList, register

OBJECT, JSON_PATCH = "Object", "JSONPatch"
_UNKNOWN = CelType(Kind.OPAQUE, "")  # the type of fields that a JSONPatch does not have; no value has this type
_PATCH_FIELDS = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}


class ObjectValue(dict[str, Any]):
    """An object that an expression created, and the name of its type."""

    __slots__ = ("type",)

    def __init__(self, type_: str, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self.type = type_


class PatchValue(dict[str, Any]):
    """A JSONPatch: `op`, `path`, `from`, and `value` if the expression sets it."""

    __slots__ = ()


register(ObjectValue, OBJECT)
register(PatchValue, JSON_PATCH)


class PatchTypes:
    """The object types of mutating policies: Object with its nested types, and JSONPatch."""

    def known(self, name: str) -> bool:
        """See gateway.cel.environment.Structs."""
        return name in (JSON_PATCH, OBJECT) or name.startswith(f"{OBJECT}.")

    def field(self, name: str, field: str) -> CelType | None:
        """See gateway.cel.environment.Structs."""
        if not self.known(name):
            return None
        return _PATCH_FIELDS.get(field, _UNKNOWN) if name == JSON_PATCH else DYN

    def maker(self, name: str) -> Maker | None:
        """See gateway.cel.environment.Structs."""
        if name == JSON_PATCH:
            return _patch
        return (lambda fields: ObjectValue(name, fields)) if self.known(name) else None


def _patch(fields: dict[str, Any]) -> PatchValue:
    return PatchValue({"op": "", "path": "", "from": "", **fields})


def misnamed(value: Any) -> list[str]:
    """The errors of type names in a created object: each nested type must be named by the path to its value."""
    return list(_misnamed(value, (value.type,))) if isinstance(value, ObjectValue) else []


def _misnamed(value: Any, path: Sequence[str]) -> Iterator[str]:
    if isinstance(value, ObjectValue):
        if value.type != (wanted := ".".join(path)):
            which = "which matches field name path from root Object type"
            yield f'unexpected type name "{value.type}", expected "{wanted}", {which}'
        for name, each in value.items():
            yield from _misnamed(each, (*path, name))
    elif isinstance(value, list):
        if type(value) is ConcatenatedList:  # cel-go does not check the items of joined lists
            return
        for each in value:
            yield from _misnamed(each, path)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _misnamed(each, path)
