"""The JSON of Go's zero values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gateway.schema.types import Field, Omit, Type, TypeKind, compiled

_ZEROS = {
    TypeKind.STRING: "",
    TypeKind.DURATION: "0s",
    TypeKind.INT32: 0,
    TypeKind.INT64: 0,
    TypeKind.FLOAT: 0,
    TypeKind.INT_OR_STRING: 0,
    TypeKind.BOOL: False,
    TypeKind.QUANTITY: "0",
}


def zero(type_: Type) -> Any:
    """A new zero value of a type: for a struct the fields that Go always writes; None where Go writes null."""
    if type_.structural:
        return {} if type_.kind is TypeKind.STRUCT else None
    if type_.kind is TypeKind.STRUCT:
        return {each.name: zero_field(each) for each in _always_written(type_)}
    return _ZEROS.get(type_.kind)


@compiled
def _always_written(type_: Type) -> tuple[Field, ...]:
    return tuple(each for each in type_.fields.values() if each.omit is Omit.NEVER)


def zero_field(field: Field) -> Any:
    """The zero value of a field; None for a pointer in Go."""
    return None if field.pointer else zero(field.type)


def zero_members(type_: Type) -> tuple[list[tuple[str, Any]], list[tuple[str, Callable[[], Any]]]]:
    """The fields of a struct that Go always writes: zero values by name, and functions that make zero structs."""
    zeros: list[tuple[str, Any]] = []
    structs: list[tuple[str, Callable[[], Any]]] = []
    for each in _always_written(type_):
        if each.type.kind is TypeKind.STRUCT and not each.pointer:
            structs.append((each.name, partial(zero, each.type) if zero(each.type) else dict))
        else:
            zeros.append((each.name, zero_field(each)))
    return zeros, structs
