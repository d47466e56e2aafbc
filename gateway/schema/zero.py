"""The JSON of Go's zero values."""

from __future__ import annotations

from typing import Any

from gateway.schema.types import Field, Kind, Omit, Type

_ZEROS = {
    Kind.STRING: "",
    Kind.DURATION: "0s",
    Kind.INT32: 0,
    Kind.INT64: 0,
    Kind.FLOAT: 0,
    Kind.INT_OR_STRING: 0,
    Kind.BOOL: False,
    Kind.QUANTITY: "0",
}


def zero(type_: Type) -> Any:
    """A new zero value of a type: for a struct its fields that are always written, None for what has no other."""
    if type_.structural:
        return {} if type_.kind is Kind.STRUCT else None
    if type_.kind is Kind.STRUCT:
        return {each.name: zero_field(each) for each in type_.fields.values() if each.omit is Omit.NEVER}
    return _ZEROS.get(type_.kind)


def zero_field(field: Field) -> Any:
    """The zero value of a field: nothing where Go has a pointer."""
    return None if field.pointer else zero(field.type)
