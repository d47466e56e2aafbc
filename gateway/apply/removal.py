"""Removes the members of a field set from a value, and adds to a set the fields on the paths to its members."""

from __future__ import annotations

from typing import Any

from gateway.apply.field_set import LEAF, FieldSet, is_member
from gateway.apply.shapes import FREE, Shape, element_of, item_key, member_of, shape_of
from gateway.schema.types import Type, TypeKind


def without(value: Any, unwanted: FieldSet, type_: Type) -> Any:
    """`value` without the members of `unwanted` (fields, map entries, list items) and all values in them.

    A container that becomes empty is None. An atomic container is None if the set has paths into it.
    """
    if not unwanted:
        return value
    match shape_of(type_):
        case Shape.STRUCT | Shape.MAP:
            return _without_members(value, unwanted, type_) if isinstance(value, dict) else None
        case Shape.FREE:
            if isinstance(value, dict):
                return _without_members(value, unwanted, FREE)
            return None if isinstance(value, list) else value
        case Shape.ITEMS | Shape.SET:
            return _without_items(value, unwanted, type_) if isinstance(value, list) else None
    return None if type_.kind in (TypeKind.STRUCT, TypeKind.MAP, TypeKind.LIST, TypeKind.ANY) else value


def _without_members(value: dict[str, Any], unwanted: FieldSet, type_: Type) -> dict[str, Any] | None:
    result: dict[str, Any] | None = None
    for element, below in unwanted.items():
        name = element[2:]
        if element[:2] != "f:" or name not in value:
            continue
        if is_member(below):
            left, gone = None, True
        else:
            left, gone = without(value[name], below, member_of(type_, name)), False
            if left is value[name]:
                continue
        if result is None:
            result = dict(value)
        if gone:
            del result[name]
        else:
            result[name] = left
    return (value if result is None else result) or None


def _without_items(value: list[Any], unwanted: FieldSet, type_: Type) -> list[Any] | None:
    keyed, element = item_key(type_), element_of(type_)
    result: list[Any] = []
    for item in value:
        below = unwanted.get(keyed(item))
        if below is None:
            result.append(item)
        elif not is_member(below):
            result.append(without(item, below, element))
    return result or None


def with_named_fields(fields: FieldSet, type_: Type) -> FieldSet:
    """`fields`, with each declared struct field that has members below it as a member too."""
    struct = type_.fields if type_.kind is TypeKind.STRUCT else {}
    result: FieldSet = {}
    for name, below in fields.items():
        if not below:
            result[name] = below
            continue
        field = struct.get(name[2:]) if name[:2] == "f:" else None
        inner = with_named_fields(below, field.type if field else _below(type_, name))
        result[name] = {".": LEAF, **inner} if field is not None and "." not in inner else inner
    return result


def _below(type_: Type, element: str) -> Type:
    if element[:2] == "f:" and type_.kind in (TypeKind.MAP, TypeKind.STRUCT):
        return element_of(type_)
    if element[:2] == "k:" and type_.kind is TypeKind.LIST:
        return element_of(type_)
    return FREE
