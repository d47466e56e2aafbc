"""Equality and order of values (cel-spec, "Equality" and "Ordering").

cel-go charges a comparison by the length of the outer list or map, whatever is in it. So a comparison, which may read a
whole object, looks at the time itself: it raises TakesLong and GivenUp as `gateway.time_limits.look`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any, cast

from gateway.cel.names import escape
from gateway.cel.raw import RawMap
from gateway.cel.types import INT
from gateway.cel.values import (
    LISTS,
    Duration,
    EvaluationError,
    KeyedList,
    Optional,
    SetList,
    Timestamp,
    Uint,
    no_overload,
)
from gateway.cel.whole_floats import refuse
from gateway.jsontypes import Whole
from gateway.time_limits import look

_NUMBERS = (int, Uint, float)
_SIMPLE = (str, bytes, bool, type(None))
_MAPS = (dict, RawMap)


def equal(one: Any, other: Any) -> bool:
    """Whether two values are equal. Numbers of different types compare by value. Raises EvaluationError."""
    kind, other_kind = type(one), type(other)
    if kind in _NUMBERS and other_kind in _NUMBERS:
        if kind is not other_kind and float in (kind, other_kind):
            return float(one) == float(other)  # cel-go converts both to double
        return bool(one == other)
    if kind in _SIMPLE:
        return kind is other_kind and bool(one == other)
    if kind in LISTS:
        return other_kind in LISTS and _equal_lists(one, other)
    if kind in _MAPS:
        return other_kind in _MAPS and _equal_maps(one, other)
    if kind is Optional:
        return other_kind is Optional and _equal_optionals(one, other)
    if Whole in (kind, other_kind):
        refuse(one if kind is Whole else other, INT)
    return kind is other_kind and bool(one == other)


def _equal_optionals(one: Optional, other: Optional) -> bool:
    if not (one.present and other.present):
        return one.present is other.present
    return equal(one.value, other.value)


def _equal_lists(one: Any, other: Any) -> bool:
    look()
    if len(one) != len(other):
        return False
    if type(one) is SetList:
        if one.strict:
            return _set_of(one) == _set_of(other)
        known = lookup(one)
        return all(each in known for each in other) and not any(type(each) is Whole for each in (*one, *other))
    if type(one) is KeyedList:
        return _equal_keyed(one, other)
    return all(map(equal, one, other))


def _set_of(items: Any) -> set[tuple[type, Any]]:
    """The items of a strict set. Raises EvaluationError for lists and maps in it."""
    return set(map(_scalar, items))


def _scalar(item: Any) -> tuple[type, Any]:
    if isinstance(item, (*LISTS, dict)):
        raise EvaluationError("listSet operations are only supported on lists of scalar values")
    return type(item), item


def lookup(items: list[Any]) -> Collection[Any]:
    """The items for membership tests: a frozenset if all are hashable, which is fast, else the list itself."""
    try:
        return frozenset(items)
    except TypeError:  # lists and maps are not hashable
        return items


def union(one: SetList, other: Any) -> list[Any]:
    """The items of a set, then each item of the other list that the set does not have, once. Raises EvaluationError."""
    items, key_of_item = list(one), _scalar if one.strict else _hashed
    known: set[Hashable] = set(map(key_of_item, items))
    for each in other:
        if (key := key_of_item(each)) not in known:
            known.add(key)
            items.append(each)
    return items


def _hashed(item: Any) -> Hashable:
    """A hashable value that is equal for equal items: the item itself, or the text of a list or map."""
    try:
        hash(item)
    except TypeError:
        return repr(item)
    return cast(Hashable, item)


def _equal_keyed(one: KeyedList, other: Any) -> bool:
    by_key, found = {key_of(each, one.keys): each for each in one}, set[tuple[Any, ...]]()
    for each in other:
        key = key_of(each, one.keys)
        if key not in by_key or not _equal_items(by_key[key], each):
            return False
        found.add(key)
    return not one.strict or len(found) == len(by_key)


def _equal_items(one: Any, other: Any) -> bool:
    try:
        return equal(one, other)
    except EvaluationError:  # `refuse`: an item has a float like 1.0 for an integer
        return False


def key_of(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    """The values of an item's keys in a keyed list; None for a missing key."""
    return tuple(item.get(key) if isinstance(item, dict) else None for key in keys)


def _equal_maps(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    look()
    if len(one) != len(other):
        return False
    if type(one) is not type(other):
        return _equals_raw(one, other) if type(one) is RawMap else _equals_raw(other, one)
    return all(key in other and equal(value, other[key]) for key, value in one.items())


def _equals_raw(one: dict[Any, Any], other: dict[Any, Any]) -> bool:
    """Whether an object as plain JSON equals one whose field names are escaped as in expressions."""
    for name, value in one.items():
        key = name if name in other else escape(name)
        if key not in other or not equal(value, other[key]):
            return False
    return True


def member(value: Any, items: Any) -> bool:
    """Whether a list has an element that equals the value."""
    kind = type(value)
    if kind is str:
        return value in items
    return any(equal(value, each) for each in items)


_ORDERED = {str: str, bytes: bytes, bool: bool, Timestamp: Timestamp, Duration: Duration}


def compare(one: Any, other: Any) -> int:
    """-1, 0 or 1: `one` is less than, equal to or greater than `other`. Raises EvaluationError without an order."""
    kind, other_kind = type(one), type(other)
    if kind in _NUMBERS and other_kind in _NUMBERS:
        if one != one or other != other:
            raise EvaluationError("NaN values cannot be ordered")
        if kind is not other_kind and float in (kind, other_kind):
            one, other = float(one), float(other)
    elif kind not in _ORDERED or kind is not other_kind:
        raise no_overload()
    return int(one > other) - int(one < other)
