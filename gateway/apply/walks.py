"""Field sets of whole values: one compiled function for each type and purpose.

`every_path` has each path in a value, structs, maps and lists included: what a write that adds or removes the value
changes. `applied_paths` has what an applied configuration claims: leaves, list items and map entries, but neither
structs nor lists nor maps with something in them (structured-merge-diff's ToFieldSet).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gateway.apply.field_set import LEAF, FieldSet
from gateway.apply.shapes import FREE, Shape, element_of, item_key, item_order, shape_of
from gateway.schema.types import Type

Walk = Callable[[Any], FieldSet]


@cache
def every_path(type_: Type) -> Walk | None:
    """Makes what stands below an element, from its value; None for types that are leaves whatever their value."""
    match shape_of(type_):
        case Shape.LEAF:
            return None
        case Shape.STRUCT:
            return _every_path_of_struct(type_)
        case Shape.MAP:
            return _every_path_of_map(type_)
        case Shape.FREE:
            return _every_path_of_free
    return _every_path_of_list(type_)


def _every_path_of_struct(type_: Type) -> Walk:
    known: dict[str, tuple[str, Walk | None]] = {}

    def learn(name: str) -> tuple[str, Walk | None]:
        field = type_.fields.get(name)
        known[name] = learned = (f"f:{name}", every_path(field.type if field else FREE))
        return learned

    def walk(value: Any) -> FieldSet:
        if not value:
            return LEAF
        below: FieldSet = {".": LEAF}
        for name in sorted(value):
            element, child = known.get(name) or learn(name)
            below[element] = LEAF if child is None else child(value[name])
        return below

    return walk


def _every_path_of_map(type_: Type) -> Walk:
    child = every_path(element_of(type_))

    def walk(value: Any) -> FieldSet:
        if not value:
            return LEAF
        below: FieldSet = {".": LEAF}
        for name in sorted(value):
            below["f:" + name] = LEAF if child is None else child(value[name])
        return below

    return walk


def _every_path_of_free(value: Any) -> FieldSet:
    if not value or not isinstance(value, dict):
        return LEAF
    below: FieldSet = {".": LEAF}
    for name in sorted(value):
        below["f:" + name] = _every_path_of_free(value[name])
    return below


def _every_path_of_list(type_: Type) -> Walk:
    child, keyed, order = every_path(element_of(type_)), item_key(type_), item_order(type_)

    def walk(value: Any) -> FieldSet:
        if not value:
            return LEAF
        below: FieldSet = {".": LEAF}
        for item in value if len(value) == 1 else sorted(value, key=order):
            element = keyed(item)
            below[element] = LEAF if child is None or element in below else child(item)
        return below

    return walk


AppliedWalk = Callable[[Any], "FieldSet | None"]


@cache
def applied_paths(type_: Type) -> AppliedWalk | None:
    """Makes what stands below a field, from its value: without "." unless the field itself is claimed.

    The function returns None when the value claims nothing; None instead of a function stands for leaves.
    """
    match shape_of(type_):
        case Shape.LEAF:
            return None
        case Shape.STRUCT:
            return _applied_struct(type_)
        case Shape.MAP:
            return _applied_map(type_)
        case Shape.FREE:
            return _applied_free
    return _applied_list(type_)


def _claimed(child: AppliedWalk | None, value: Any) -> FieldSet:
    """Below an element that is claimed itself: a map entry or a list item."""
    below = child(value) if child is not None and value is not None else None
    return {".": LEAF, **below} if below else LEAF


def _applied_struct(type_: Type) -> AppliedWalk:
    known: dict[str, tuple[str, AppliedWalk | None, bool]] = {}

    def learn(name: str) -> tuple[str, AppliedWalk | None, bool]:
        field = type_.fields.get(name)
        known[name] = learned = (f"f:{name}", applied_paths(field.type if field else FREE), field is not None)
        return learned

    def walk(value: Any) -> FieldSet | None:
        if not value:
            return LEAF
        below: FieldSet = {}
        for name in sorted(value):
            element, child, declared = known.get(name) or learn(name)
            member = value[name]
            if child is None or member is None:
                below[element] = LEAF
            elif not declared:
                below[element] = _claimed(child, member)
            else:
                fields = child(member)
                if fields is not None:
                    below[element] = fields
        return below or None

    return walk


def _applied_map(type_: Type) -> AppliedWalk:
    child = applied_paths(element_of(type_))

    def walk(value: Any) -> FieldSet | None:
        return {"f:" + name: _claimed(child, value[name]) for name in sorted(value)}

    return walk


def _applied_free(value: Any) -> FieldSet | None:
    if not value or not isinstance(value, dict):
        return LEAF
    return {"f:" + name: _claimed(_applied_free, value[name]) for name in sorted(value)}


def _applied_list(type_: Type) -> AppliedWalk:
    child, keyed, order = applied_paths(element_of(type_)), item_key(type_), item_order(type_)

    def walk(value: Any) -> FieldSet | None:
        below: FieldSet = {}
        for item in value if len(value) < 2 else sorted(value, key=order):
            element = keyed(item)
            below[element] = LEAF if element in below else _claimed(child, item)
        return below or None

    return walk
