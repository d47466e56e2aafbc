"""Merges an applied configuration into a live value: structured-merge-diff's Merge, compiled for each type.

Merging removes nothing. The result shares unchanged parts with the live value. If nothing changes, the result is the
live value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from gateway.apply.shapes import Shape, element_of, item_identity, members_of, shape_of
from gateway.jsontypes import identical
from gateway.schema.types import Type, compiled

Merge = Callable[[Any, Any], Any]


def merged(live: Any, config: Any, type_: Type) -> Any:
    """`live` with `config` merged into it. Both are values of the type."""
    merge = _merger(type_)
    return (merge or _merge_leaf)(live, config)


@compiled
def _merger(type_: Type) -> Merge | None:
    """A function that merges an applied value into a live one; None for leaves."""
    match shape_of(type_):
        case Shape.LEAF:
            return None
        case Shape.STRUCT:
            return _struct_merger(type_)
        case Shape.MAP:
            element = element_of(type_)
            return _object_merger(lambda _: _merger(element))
        case Shape.FREE:
            return _merge_free
    return _list_merger(type_)


def _merge_leaf(live: Any, config: Any) -> Any:
    return live if type(live) is type(config) and identical(live, config) else config


def _struct_merger(type_: Type) -> Merge:
    known: dict[str, Merge | None] = {}
    member_of = members_of(type_)

    def member(name: str) -> Merge | None:
        if name not in known:
            known[name] = _merger(member_of(name))
        return known[name]

    return _object_merger(member, exactly=type_.structural)


def _object_merger(member: Callable[[str], Merge | None], *, exactly: bool = False) -> Merge:
    """A function that merges objects. `exactly`: values may have any JSON type, so 1 must not equal true."""

    def merge(live: Any, config: Any) -> Any:
        if not live:
            return _merge_leaf(live, config)
        result: dict[str, Any] | None = None
        for name, value in (config or {}).items():
            if name in live:
                old = live[name]
                if old == value and type(old) is type(value) and (not exactly or identical(old, value)):
                    continue
                inner = member(name)
                if inner is not None:
                    value = inner(old, value)
                    if value is old:
                        continue
            if result is None:
                result = dict(live)
            result[name] = value
        return live if result is None else result

    return merge


def _merge_free(live: Any, config: Any) -> Any:
    if isinstance(live, dict) and (config is None or isinstance(config, dict)):
        return _merge_free_objects(live, config)
    return _merge_leaf(live, config)


_merge_free_objects = _object_merger(lambda _: _merge_free, exactly=True)


def _list_merger(type_: Type) -> Merge:
    identity, element = item_identity(type_), element_of(type_)

    def merge(live: Any, config: Any) -> Any:
        if not live:
            return _merge_leaf(live, config)
        if not config:
            return live
        live_keys, keys = [identity(item) for item in live], [identity(item) for item in config]
        if live_keys == keys and len(set(keys)) == len(keys):
            inner = _merger(element) or _merge_leaf
            result = [inner(old, new) for old, new in zip(live, config, strict=True)]
        else:
            result = _merged_items(live, config, live_keys, keys, element)
        return live if len(result) == len(live) and all(map(is_, result, live)) else result

    return merge


def _merged_items(
    live: list[Any], config: list[Any], live_keys: list[Any], keys: list[Any], element: Type
) -> list[Any]:
    """The items of both lists: the applied ones in their order, the other live ones at their places between them."""
    merge = _merger(element) or _merge_leaf
    by_key: dict[Any, Any] = {}
    for key, item in zip(live_keys, live, strict=True):
        by_key[key] = None if key in by_key else item  # duplicate live items are replaced, not merged
    applied = set(keys)
    shared = iter([key for key in keys if key in by_key])
    next_shared = next(shared, None)
    done: set[Any] = set()
    result: list[Any] = []

    def take(at: int) -> None:
        key = keys[at]
        done.add(key)
        old = by_key.get(key)
        result.append(config[at] if old is None else merge(old, config[at]))

    left, right = 0, 0
    while left < len(live) or right < len(config):
        if left < len(live) and right < len(config):
            key = live_keys[left]
            if key == keys[right]:
                take(right)
                left, right, next_shared = left + 1, right + 1, next(shared, None)
                continue
            if key in applied and next_shared is not None and next_shared != key:
                left += 1  # it is added later, with the applied items
                continue
        if left < len(live):
            key = live_keys[left]
            if key not in applied:
                result.append(live[left])
                left += 1
                continue
            if key in done:
                left += 1
        if right < len(config):
            take(right)
            if next_shared == keys[right]:
                next_shared = next(shared, None)
            right += 1
    return result
