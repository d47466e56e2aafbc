"""Makes the field sets of whole values, with one compiled function for each type and purpose.

`every_path` makes the set of all paths in a value, including structs, maps and lists. A write that adds or removes the
value changes these. `applied_paths` makes the set that an applied configuration claims: leaves, list items and map
entries, but no structs, and no lists or maps that are not empty (structured-merge-diff's ToFieldSet).

Structs with the same members share the upper level of their field sets. It is made once for each combination of
members, in canonical order. The sets of `applied_paths` are in the order of the value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gateway.apply.field_set import LEAF, FieldSet, in_order
from gateway.apply.shapes import Shape, element_of, item_identity, item_key, members_of, shape_of
from gateway.schema.types import Type, compiled
from gateway.time_limits import sorted_in_pieces

Walk = Callable[[Any], FieldSet]

_MAX_PLANS = 1024
"""The greatest number of cached combinations of members for a type. Clients choose them, so they need a limit."""


@compiled
def every_path(type_: Type) -> Walk | None:
    """A function from a value to the set below its element; None for types whose values are always leaves."""
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
    plans: dict[tuple[str, ...], tuple[FieldSet, list[tuple[str, str, Walk]]]] = {}
    member_of = members_of(type_)

    def planned(names: tuple[str, ...]) -> tuple[FieldSet, list[tuple[str, str, Walk]]]:
        if len(plans) > _MAX_PLANS:
            plans.clear()
        template: FieldSet = {".": LEAF} if names else {}
        inner = []
        for name in sorted(names):
            element = f"f:{name}"
            template[element] = LEAF
            walk = every_path(member_of(name))
            if walk is not None:
                inner.append((name, element, walk))
        plans[names] = template, inner
        return template, inner

    def walk(value: Any) -> FieldSet:
        names = tuple(value or ())
        template, inner = plans.get(names) or planned(names)
        if not inner:
            return template
        below = template.copy()
        for name, element, child in inner:
            below[element] = child(value[name])
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
    child, keyed, identity = every_path(element_of(type_)), item_key(type_), item_identity(type_)

    def walk(value: Any) -> FieldSet:
        if not value:
            return LEAF
        below: FieldSet = {".": LEAF}
        sortable = True
        if len(value) > 1:
            try:
                value = sorted_in_pieces(value, key=identity)
            except TypeError:
                sortable = False
        for item in value:
            element = keyed(item)
            below[element] = LEAF if child is None or element in below else child(item)
        return below if sortable else in_order(below)

    return walk


AppliedWalk = Callable[[Any], "FieldSet | None"]


@compiled
def applied_paths(type_: Type) -> AppliedWalk | None:
    """A function from a value to the set below its field, without "." unless the field itself is claimed.

    The function returns None if the value claims nothing. Types that are leaves have no function (None).
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
    """The set below an element that is claimed itself: a map entry or a list item."""
    below = child(value) if child is not None and value is not None else None
    return {".": LEAF, **below} if below else LEAF


def _applied_struct(type_: Type) -> AppliedWalk:
    plans: dict[tuple[str, ...], tuple[FieldSet, list[tuple[str, str, AppliedWalk]]]] = {}
    member_of, fields = members_of(type_), type_.fields

    def planned(names: tuple[str, ...]) -> tuple[FieldSet, list[tuple[str, str, AppliedWalk]]]:
        if len(plans) > _MAX_PLANS:
            plans.clear()
        leaves: FieldSet = {}
        inner: list[tuple[str, str, AppliedWalk]] = []
        for name in names:
            walk = applied_paths(member_of(name))
            if walk is None:
                leaves[f"f:{name}"] = LEAF
            else:
                inner.append((name, f"f:{name}", walk if name in fields else partial(_claimed, walk)))
        plans[names] = leaves, inner
        return leaves, inner

    def walk(value: Any) -> FieldSet | None:
        names = tuple(value or ())
        leaves, inner = plans.get(names) or planned(names)
        if not inner:
            return leaves
        below = leaves.copy()
        for name, element, child in inner:
            member = value[name]
            fields = LEAF if member is None else child(member)
            if fields is not None:
                below[element] = fields
        return below or None

    return walk


def _applied_map(type_: Type) -> AppliedWalk:
    child = applied_paths(element_of(type_))

    def walk(value: Any) -> FieldSet | None:
        if child is None:
            return {"f:" + name: LEAF for name in value}
        return {"f:" + name: _claimed(child, member) for name, member in value.items()}

    return walk


def _applied_free(value: Any) -> FieldSet | None:
    if not value or not isinstance(value, dict):
        return LEAF
    return {"f:" + name: _claimed_free(member) for name, member in value.items()}


def _claimed_free(value: Any) -> FieldSet:
    return _claimed(_applied_free, value)


def _applied_list(type_: Type) -> AppliedWalk:
    child, keyed = applied_paths(element_of(type_)), item_key(type_)

    def walk(value: Any) -> FieldSet | None:
        below: FieldSet = {}
        for item in value:
            element = keyed(item)
            below[element] = LEAF if element in below else _claimed(child, item)
        return below or None

    return walk
