"""Merges repeated members of JSON objects, as Go's decoder does."""

from __future__ import annotations

from typing import Any

from gateway.schema.body import plain
from gateway.schema.exact import PairsObject, pairs
from gateway.schema.types import Type, TypeKind
from gateway.time_limits import look


def merged(type_: Type, value: Any) -> Any:
    """The value without repeated members. As in Go, a later struct, map or list is decoded into the earlier one.
    Free-form JSON keeps the last of repeated members."""
    look()
    kind = type_.kind
    if type_.structural:
        return plain(value)
    if kind is TypeKind.STRUCT and isinstance(value, dict):
        last: dict[str, Any] = {}
        for key, item in pairs(value):
            field = type_.fields.get(key)
            last[key] = _over(field.type, field.pointer, last[key], item) if field and key in last else item
        return {k: merged(type_.fields[k].type, item) if k in type_.fields else None for k, item in last.items()}
    if kind is TypeKind.MAP and isinstance(value, dict):
        return {key: merged(type_.element(), item) for key, item in pairs(value)}
    if kind is TypeKind.LIST and isinstance(value, list):
        return [merged(type_.element(), item) for item in value]
    return plain(value) if kind is TypeKind.ANY else value


class _Joined(PairsObject):
    """The joined members of all objects that came under one name. Members of a further one are added in place."""

    __slots__ = ()


_KEPT_BY_NULL = frozenset(
    {TypeKind.STRUCT, TypeKind.STRING, TypeKind.INT32, TypeKind.INT64, TypeKind.FLOAT, TypeKind.BOOL, TypeKind.ANY}
)


def _over(type_: Type, pointer: bool, old: Any, new: Any) -> Any:
    if new is None:
        return old if not pointer and type_.kind in _KEPT_BY_NULL else None
    if type_.kind in (TypeKind.STRUCT, TypeKind.MAP) and isinstance(old, dict) and isinstance(new, dict):
        both = old if type(old) is _Joined else _Joined()
        for key, item in (*(() if both is old else pairs(old)), *pairs(new)):
            both.append(key, item)
        return both
    if type_.kind is TypeKind.LIST and isinstance(old, list) and isinstance(new, list):
        elem = type_.element()
        shared = [_over(elem, type_.elem_pointer, *pair) for pair in zip(old, new, strict=False)]
        return shared + new[len(shared) :]
    return new
