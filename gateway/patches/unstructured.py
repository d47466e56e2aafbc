"""Conversion of maps to typed objects, as apimachinery's unstructured converter does it in Go.

kube-apiserver converts the results of strategic merge patch and server-side apply so. Unlike JSON decoding, the
conversion does not refuse integers that are out of range: they wrap around.
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
_WRITTEN_OUT = 1e21  # from here on, Go writes numbers with an exponent


def converted(type_: Type, value: dict[str, Any], report: DecodeReport) -> dict[str, Any]:
    """The typed object for a map. Adds unknown and duplicate fields to `report`, whose paths name no keys of maps, as
    those of Go's converter. Raises DecodeError."""
    report.keyless = not type_.structural
    try:
        return decode(type_, value, report)
    except DecodeError:
        report.problems.clear()
        return decode(type_, _without_unread(value, type_) if type_.structural else _wrapped(value, type_), report)


def _without_unread(value: dict[str, Any], type_: Type) -> dict[str, Any]:
    """A custom object without the metadata fields that the server sets and that have a wrong type.

    Go's accessors read such a field as absent.
    """
    metadata, field = value.get("metadata"), type_.fields.get("metadata")
    if field is None or not isinstance(metadata, dict):
        return value
    fields = field.type.fields
    read = {k: v for k, v in metadata.items() if k not in _SET_BY_SERVER or mismatch(v, fields[k].type) is None}
    return {**value, "metadata": _wrapped(read, field.type)}


def _wrapped(value: Any, type_: Type) -> Any:
    """The value with whole floats made integers, and integers wrapped to the 32 or 64 bits of their types."""
    if type(value) is float and value.is_integer():
        if type_.kind in _BITS:  # on amd64, Go converts a float beyond 64 bits to the least int64
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
    """A number as types with their own JSON decoder see it: Go writes a whole float without a fraction."""
    return int(value) if type(value) is float and value.is_integer() and abs(value) < _WRITTEN_OUT else value


def mismatch(value: Any, type_: Type) -> str | None:
    """The error of Go's converter for the first part of `value` that does not fit the type; None if all fits."""
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
        case TypeKind.ANY if type_.elem is not None:
            from gateway.schema.problems import refusal_of_choice

            return refusal_of_choice(type_, value)
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
