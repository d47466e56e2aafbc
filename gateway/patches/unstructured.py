"""How Go turns maps into typed objects, where that differs from reading JSON (apimachinery's unstructured converter).

Strategic merge patches and applies end in that conversion: integers wrap around instead of being refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.schema.decode import DecodeError, DecodeReport, decode
from gateway.schema.refusals import refusal_of_own
from gateway.schema.types import Type, TypeKind
from gateway.validation.go_print import go_type

_BITS = {TypeKind.INT32: 32, TypeKind.INT64: 64}
_HALF = 1 << 63
_SET_BY_SERVER = frozenset({"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation"})
_WRITTEN_OUT = 1e21  # Go writes greater numbers with an exponent


def converted(type_: Type, value: dict[str, Any], report: DecodeReport) -> dict[str, Any]:
    """The object that the converter makes of a map. Raises DecodeError."""
    try:
        return decode(type_, value, report)
    except DecodeError:
        report.problems.clear()
        return decode(type_, _without_unread(value, type_) if type_.structural else _wrapped(value, type_), report)


def _without_unread(value: dict[str, Any], type_: Type) -> dict[str, Any]:
    """A custom object without what the server sets and Go's accessors do not see, because it is of a wrong type."""
    metadata, field = value.get("metadata"), type_.fields.get("metadata")
    if field is None or not isinstance(metadata, dict):
        return value
    fields = field.type.fields
    read = {k: v for k, v in metadata.items() if k not in _SET_BY_SERVER or mismatch(v, fields[k].type) is None}
    return {**value, "metadata": _wrapped(read, field.type)}


def _wrapped(value: Any, type_: Type) -> Any:
    """The same with numbers of integer types made integers, cut to the bits of their types."""
    if type(value) is float and value.is_integer():
        if type_.kind in _BITS:  # an amd64 makes the least integer of what none of 64 bits can hold
            value = int(value) if -_HALF <= value < _HALF else -_HALF
        elif type_.kind is TypeKind.INT_OR_STRING:
            return _written(value)
    if type(value) is int and type_.kind in _BITS:
        half = 1 << (_BITS[type_.kind] - 1)
        return (value + half) % (2 * half) - half
    if isinstance(value, dict) and type_.kind is TypeKind.STRUCT:
        fields = type_.fields
        return {name: _wrapped(item, fields[name].type) if name in fields else item for name, item in value.items()}
    if type_.elem is None:
        return value
    if isinstance(value, dict):
        return {name: _wrapped(item, type_.elem) for name, item in value.items()}
    if isinstance(value, list):
        return [_wrapped(item, type_.elem) for item in value]
    return value


def _written(value: Any) -> Any:
    """A float as it is read back from JSON, by what reads itself: whole ones are integers there."""
    return int(value) if type(value) is float and value.is_integer() and abs(value) < _WRITTEN_OUT else value


def mismatch(value: Any, type_: Type) -> str | None:
    """The first thing that keeps Go's converter from turning `value` into the type, or None."""
    if value is None:
        return None
    members: Iterator[tuple[Any, Type]]
    match type_.kind:
        case TypeKind.STRUCT:
            if not isinstance(value, dict):
                return f"cannot restore struct from: {_kind(value)}"
            members = ((value.get(name), field.type) for name, field in type_.fields.items())
        case TypeKind.MAP:
            if not isinstance(value, dict):
                return f"cannot restore map from {_kind(value)}"
            members = ((member, type_.elem) for member in value.values()) if type_.elem else iter(())
        case TypeKind.LIST:
            if not isinstance(value, list):
                return f"cannot restore slice from {_kind(value)}"
            members = ((member, type_.elem) for member in value) if type_.elem else iter(())
        case TypeKind.BYTES:
            return (
                refusal_of_own(type_, value) if isinstance(value, str) else f"cannot restore slice from {_kind(value)}"
            )
        case TypeKind.INT_OR_STRING:
            return refusal_of_own(type_, _written(value))
        case TypeKind.STRING | TypeKind.BOOL | TypeKind.INT32 | TypeKind.INT64 | TypeKind.FLOAT:
            return _scalar_mismatch(value, type_)
        case _:
            return refusal_of_own(type_, value)
    return next((message for message in (mismatch(v, t) for v, t in members) if message), None)


def _scalar_mismatch(value: Any, type_: Type) -> str | None:
    source, target = go_type(value), type_.name
    match type_.kind:
        case TypeKind.STRING:
            fits, related = isinstance(value, str), source == "int64"
        case TypeKind.BOOL:
            fits, related = isinstance(value, bool), False
        case TypeKind.FLOAT:
            fits, related = source in ("int64", "float64"), False
        case _:
            fits = source == "int64" or (source == "float64" and float(value).is_integer())
            related = source == "float64"
    if fits:
        return None
    return f"cannot convert {source} to {target}" if related else f"unrecognized type: {type_.kind.value}"


def _kind(value: Any) -> str:
    match value:
        case dict():
            return "map"
        case list():
            return "slice"
        case _:
            return go_type(value)
