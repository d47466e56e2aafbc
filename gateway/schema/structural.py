"""Decodes values by a structural schema: unknown fields are dropped, and everything else stays as it was sent.

As pruning of custom resources in kube-apiserver ("Field pruning" of "Extend the Kubernetes API with
CustomResourceDefinitions"). Values are not checked here: validation does that later. Nulls stay until defaulting.
Metadata of the object and of embedded ones is decoded as in built-in kinds, but Go encodes its JSON again before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from math import isfinite
from typing import Any

from gateway.jsontypes import Whole
from gateway.schema.errors import Marks, Mismatch
from gateway.schema.types import Type, TypeKind

Reader = Callable[[Any, Marks], Any]  # (a value, marks where members were unknown) -> the value without these members


def reader(type_: Type, reader_of: Callable[[Type], Reader]) -> Reader:
    """The reader of a structural type; `reader_of` finds the readers of its parts."""
    if type_.kind is TypeKind.STRUCT:
        return _members(type_, reader_of)
    if type_.kind is TypeKind.LIST and type_.elem is not None:
        elem = item_of(type_)
        return _items(reader_of(elem), texts_stay=elem.structural)
    if type_.kind in (TypeKind.FLOAT, TypeKind.INT64, TypeKind.INT_OR_STRING) and type_.preserves:
        return _number
    if type_.kind is TypeKind.ANY or type_.preserves:
        return as_go_numbers
    return _bare


def item_of(list_type: Type) -> Type:
    """The type of a list's items. If a list preserves unknown fields, its items do, but not their parts."""
    elem = list_type.element()
    if list_type.structural and list_type.preserves and elem.structural and not elem.preserves:
        return replace(elem, preserves=True)
    return elem


def as_go_numbers(value: Any, marks: Marks) -> Any:
    """JSON without a schema, with numbers as Go writes them. Raises Mismatch for a number beyond float64."""
    if type(value) is float:
        if not isfinite(value):  # JSON has no such number: it would be written as null
            raise Mismatch
        return _whole(value) if value.is_integer() and abs(value) < _WRITTEN_OUT else value
    if type(value) is int and not -(2**63) <= value < 2**63:
        if abs(value) >= 1 << 1023:
            raise Mismatch
        rounded = float(value)
        return _whole(rounded) if abs(rounded) < _WRITTEN_OUT else rounded
    if isinstance(value, dict):
        return {key: as_go_numbers(item, marks) for key, item in value.items()}
    if type(value) is list:
        return [as_go_numbers(item, marks) for item in value]
    return value


def as_came(value: Any, marks: Marks) -> Any:
    """As `as_go_numbers`, but a whole float becomes a `Whole`, so that validation can tell it from an integer."""
    if isinstance(value, dict):
        return {key: as_came(item, marks) for key, item in value.items()}
    if type(value) is list:
        return [as_came(item, marks) for item in value]
    return _number(value, marks)


def _number(value: Any, marks: Marks) -> Any:
    made = as_go_numbers(value, marks)
    return Whole(made) if type(value) is float and type(made) is int else made


_WRITTEN_OUT = 1e21  # from here on, Go writes numbers with an exponent


def _whole(value: float) -> int:
    """A whole float as Go writes it: the fewest digits that identify the float, then zeros."""
    return int(Decimal(repr(value)))


def _bare(value: Any, marks: Marks) -> Any:
    """Prunes a value without members in the schema: all members of its objects, also within lists, are unknown."""
    if type(value) is str or type(value) is bool:
        return value
    if isinstance(value, dict):
        marks += [None] * len(value)
        return {}
    if type(value) is list:
        return [_bare(item, marks) for item in value]
    return _number(value, marks)


def _text(value: Any, marks: Marks) -> Any:
    """The kind or apiVersion of an object. Raises Mismatch if it is not a string."""
    if type(value) is not str:
        raise Mismatch
    return value


def _members(type_: Type, reader_of: Callable[[Type], Reader]) -> Reader:
    readers = {field.name: (reader_of(field.type), not field.type.structural) for field in type_.fields.values()}
    if type_.embedded:
        readers |= dict.fromkeys(("apiVersion", "kind"), (_text, False))
        if "metadata" in readers:
            readers["metadata"] = _metadata(readers["metadata"][0]), True
    others: Reader | None = as_go_numbers if type_.preserves else None
    if type_.elem is not None:
        others = reader_of(type_.elem)
    find, preserves, embedded = readers.get, type_.preserves, type_.embedded

    def read(value: Any, marks: Marks) -> Any:
        if not isinstance(value, dict):
            return as_go_numbers(value, marks) if preserves else _bare(value, marks)
        out: dict[str, Any] = {}
        for key, item in value.items():
            found = find(key)
            if found is not None:
                read_member, drops_null = found
                if type(item) is str and not drops_null:  # no structural reader changes a string
                    out[key] = item
                elif item is not None:
                    out[key] = read_member(item, marks)
                elif read_member is _text:
                    raise Mismatch
                elif embedded and key == "metadata":
                    out[key] = {}
                elif not drops_null:
                    out[key] = None
            elif others is not None:
                out[key] = others(item, marks)
            else:
                marks.append(None)
        return out

    return read


def _metadata(read: Reader) -> Reader:
    """The reader of an object's metadata. 2.0 and 1e1 are valid integers in it, because Go writes them as 2 and 10."""

    def read_metadata(value: Any, marks: Marks) -> Any:
        try:
            return read(value, marks)
        except Mismatch:
            return read(as_go_numbers(value, marks), marks)

    return read_metadata


def _items(read_item: Reader, *, texts_stay: bool) -> Reader:
    def read(value: Any, marks: Marks) -> Any:
        if type(value) is not list:
            return _bare(value, marks)
        return [item if type(item) is str and texts_stay else read_item(item, marks) for item in value]

    return read
