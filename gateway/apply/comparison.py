"""Compares two values of a type: structured-merge-diff's Compare, compiled for each type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from gateway.apply.field_set import LEAF, FieldSet, children_of, in_order
from gateway.apply.shapes import FREE, Shape, element_of, item_identity, item_key, members_of, shape_of
from gateway.apply.walks import Walk, every_path
from gateway.jsontypes import JsonObject, identical
from gateway.schema.types import Type, TypeKind, compiled
from gateway.schema.zero import zero


class Comparison(NamedTuple):
    """The fields that are added or modified in the new value, and the fields that are removed from the old one."""

    changed: FieldSet
    removed: FieldSet


SAME = Comparison({}, {})
_MODIFIED = Comparison({".": LEAF}, {})

Compare = Callable[[Any, Any], "Comparison | None"]
"""Compares an old and a new value. Returns None if they are the same, `_MODIFIED` if the element itself differs."""


def compare(old: JsonObject, new: JsonObject, type_: Type) -> Comparison:
    """The differences of two objects of a struct type."""
    if old == new and (not _may_hold_anything(type_) or not _only_in_python(old, new)):
        return SAME
    differ = _comparer(type_)
    return (differ(old, new) if differ else None) or SAME


unset = compiled(zero)
"""Go's JSON of an empty struct of a type. New objects are compared with it. It must not be changed."""


@compiled
def _may_hold_anything(type_: Type) -> bool:
    """Whether values of a type may have a number and a boolean at the same place. In Python, 1 equals True."""
    reached, left = {type_}, [type_]
    while left:
        each = left.pop()
        if each.kind is TypeKind.ANY or each.structural or each.preserves:
            return True
        inner = {field.type for field in each.fields.values()} | ({each.elem} if each.elem is not None else set())
        left += inner - reached
        reached |= inner
    return False


def _only_in_python(old: Any, new: Any) -> bool:
    """Whether two values that Python finds equal differ as JSON."""
    return not identical(old, new) and _told_apart(old) != _told_apart(new)


def _told_apart(value: Any) -> Any:
    """A copy of a value with strings for booleans, so that they do not equal numbers."""
    if type(value) is dict:
        return {name: _told_apart(member) for name, member in value.items()}
    if type(value) is list:
        return [_told_apart(item) for item in value]
    return f"\0{value}" if type(value) is bool else value


@compiled
def _comparer(type_: Type) -> Compare | None:
    """The compare function of a type; None for leaves, which differ only as a whole."""
    match shape_of(type_):
        case Shape.LEAF:
            return None
        case Shape.STRUCT:
            return _struct_comparer(type_)
        case Shape.MAP:
            element = element_of(type_)
            return _object_comparer(lambda _: _member_of(element))
        case Shape.FREE:
            return _compare_free
    return _list_comparer(type_)


Member = tuple["Compare | None", "Walk | None", bool]


def _member_of(type_: Type) -> Member:
    return _comparer(type_), every_path(type_), _may_hold_anything(type_)


def _struct_comparer(type_: Type) -> Compare:
    known: dict[str, Member] = {}
    member_of = members_of(type_)

    def member(name: str) -> Member:
        found = known.get(name)
        if found is None:
            found = known[name] = _member_of(member_of(name))
        return found

    return _object_comparer(member)


def _object_comparer(member: Callable[[str], Member]) -> Compare:
    def differ(old: Any, new: Any) -> Comparison | None:
        if not old and not new:
            return None if old == new else _MODIFIED
        old, new = old or {}, new or {}
        changed: FieldSet = {}
        removed: FieldSet = {}
        for name in sorted(old.keys() | new.keys() if old.keys() != new.keys() else old):
            if name not in old:
                walk = member(name)[1]
                changed["f:" + name] = LEAF if walk is None else walk(new[name])
                continue
            if name not in new:
                walk = member(name)[1]
                removed["f:" + name] = LEAF if walk is None else walk(old[name])
                continue
            before, after = old[name], new[name]
            if before is after:
                continue
            inner, _, anything = member(name)
            if anything and before == after and _only_in_python(before, after):
                before, after = _told_apart(before), _told_apart(after)
            if before != after:
                _note((inner or _compare_leaves)(before, after), "f:" + name, changed, removed)
        return Comparison(changed, removed) if changed or removed else None

    return differ


def _note(found: Comparison | None, element: str, changed: FieldSet, removed: FieldSet) -> None:
    if found is _MODIFIED:
        changed[element] = LEAF
    elif found is not None:
        if found.changed:
            changed[element] = found.changed if found.changed != _MODIFIED.changed else LEAF
        if found.removed:
            removed[element] = found.removed


def _compare_free(old: Any, new: Any) -> Comparison | None:
    if isinstance(old, dict) and isinstance(new, dict):
        return _compare_free_objects(old, new)
    if isinstance(old, dict) and old:  # if it became null, only its members are removed
        return Comparison({} if new is None else {".": LEAF}, children_of(_every_free(old)))
    if isinstance(new, dict) and new and old is None:  # it was null: only its members are added
        return Comparison(children_of(_every_free(new)), {})
    if isinstance(new, dict) and new:
        return Comparison(_every_free(new), {})
    return None if old == new and type(old) is type(new) else _compare_leaves(old, new)


def _compare_leaves(old: Any, new: Any) -> Comparison | None:
    """Compares leaves that Python finds different. Integers of over 64 bits compare as float64, as in Go."""
    numbers = type(old) in (int, float) and type(new) in (int, float)
    return None if numbers and identical(old, new) else _MODIFIED


def _every_free(value: Any) -> FieldSet:
    walk = every_path(FREE)
    return LEAF if walk is None else walk(value)


_compare_free_objects = _object_comparer(lambda _: (_compare_free, every_path(FREE), True))


def _list_comparer(type_: Type) -> Compare:
    keyed, identity, element = item_key(type_), item_identity(type_), element_of(type_)
    every_item = every_path(type_)

    def differ(old: Any, new: Any) -> Comparison | None:
        if not old and not new:
            return None if old == new else _MODIFIED
        if not old and every_item is not None:
            return Comparison({name: below for name, below in every_item(new).items() if name != "."}, {})
        before, after = _grouped(old or (), identity), _grouped(new or (), identity)
        changed: FieldSet = {}
        removed: FieldSet = {}
        inner, walk, anything = _member_of(element)
        for group in before | after:
            lefts, rights = before.get(group, []), after.get(group, [])
            shown = (lefts or rights)[0]
            if anything and lefts == rights and _only_in_python(lefts, rights):
                lefts, rights = _told_apart(lefts), _told_apart(rights)
            if lefts == rights:
                continue
            key = keyed(shown)
            if len(lefts) == 1 and len(rights) == 1:
                _note((inner or _compare_leaves)(lefts[0], rights[0]), key, changed, removed)
                continue
            if len(lefts) > 1 and len(rights) > 1:
                changed[key] = LEAF
                continue
            if rights:
                changed[key] = LEAF if len(rights) > 1 or walk is None else walk(rights[0])
            if lefts:
                removed[key] = LEAF if len(lefts) > 1 or walk is None else walk(lefts[0])
        if not changed and not removed:
            return None
        return Comparison(in_order(changed), in_order(removed))

    return differ


def _grouped(items: Any, identity: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for item in items:
        found.setdefault(identity(item), []).append(item)
    return found
