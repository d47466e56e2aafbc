"""The fields that an update changes only by empty lists and maps that storage does not keep.

structured-merge-diff compares the items of two lists of a built-in kind by reflect.DeepEqual, which tells an empty list
from an absent one. So a rule with `resourceNames: []` changes the list of rules each time it is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.apply.field_set import LEAF, FieldSet, in_order
from gateway.apply.shapes import Shape, item_key, shape_of
from gateway.schema.empty_lists import lacks_empty
from gateway.schema.types import Type, TypeKind


def emptied_fields(type_: Type, sent: Any, made: Any) -> FieldSet:
    """The atomic fields that have an emptied list or map: a client `sent` it, and `made` lacks it.

    `made` is the object that was decoded from `sent`, with its defaults.
    """
    return _below(type_, sent, made) or {}


def _below(type_: Type, sent: Any, made: Any) -> FieldSet | None:
    """The set below an element; None if nothing in it is emptied."""
    if not sent or not made or type(sent) is str:
        return None
    shape = shape_of(type_)
    if shape is Shape.LEAF:
        return LEAF if _in_a_list(type_, sent, made) else None
    found: FieldSet = {}
    for element, member, given, kept in _members(type_, shape, sent, made):
        if (below := _below(member, given, kept)) is not None:
            found[element] = below
    return in_order(found) if found else None


def _members(type_: Type, shape: Shape, sent: Any, made: Any) -> Iterator[tuple[str, Type, Any, Any]]:
    """The members of a value: path element, type, what was sent and what was made of it."""
    if shape is Shape.ITEMS and type(sent) is type(made) is list:
        keyed, item = item_key(type_), type_.element()
        for given, kept in zip(sent, made, strict=False):
            yield keyed(kept), item, given, kept
    elif shape is Shape.STRUCT and isinstance(sent, dict):
        for name, given in sent.items():
            if (field := type_.fields.get(name)) is not None and name != "managedFields":
                yield f"f:{name}", field.type, given, made.get(name)
    elif shape is Shape.MAP and isinstance(sent, dict):
        for name, given in sent.items():
            yield f"f:{name}", type_.element(), given, made.get(name)


def _in_a_list(type_: Type, sent: Any, made: Any) -> bool:
    """Whether an atomic value has a list with such an item."""
    if not sent or not made:
        return False
    if type_.kind is TypeKind.LIST:
        return lacks_empty(type_, sent, made)
    if type_.kind is TypeKind.STRUCT and isinstance(sent, dict):
        fields = type_.fields
        return any(_in_a_list(fields[n].type, given, made.get(n)) for n, given in sent.items() if n in fields)
    if type_.kind is TypeKind.MAP and isinstance(sent, dict):
        return any(_in_a_list(type_.element(), given, made.get(name)) for name, given in sent.items())
    return False
