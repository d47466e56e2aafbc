"""Merges an applied configuration into a live value: structured-merge-diff's Merge, compiled for each type.

Nothing is ever removed by it. What the configuration leaves as it is, is shared with the live value; when that is
everything, the live value itself is the result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from gateway.apply.shapes import FREE, Shape, element_of, item_key, shape_of
from gateway.schema.types import Type

Merge = Callable[[Any, Any], Any]


@cache
def merger(type_: Type) -> Merge:
    """A function of a live and an applied value, both of the type, that returns the merged one."""
    match shape_of(type_):
        case Shape.LEAF:
            return _merge_leaf
        case Shape.STRUCT:
            return _struct_merger(type_)
        case Shape.MAP:
            element = element_of(type_)
            return _object_merger(lambda _: merger(element))
        case Shape.FREE:
            return _merge_free
    return _list_merger(type_)


def _merge_leaf(live: Any, config: Any) -> Any:
    return live if live == config and type(live) is type(config) else config


def _struct_merger(type_: Type) -> Merge:
    known: dict[str, Merge] = {}

    def member(name: str) -> Merge:
        found = known.get(name)
        if found is None:
            field = type_.fields.get(name)
            found = known[name] = merger(field.type if field else FREE)
        return found

    return _object_merger(member)


def _object_merger(member: Callable[[str], Merge]) -> Merge:
    def merge(live: Any, config: Any) -> Any:
        if not live:
            return _merge_leaf(live, config)
        result: dict[str, Any] | None = None
        for name, value in (config or {}).items():
            if name in live:
                old = live[name]
                value = old if old is None and value is None else member(name)(old, value)
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


_merge_free_objects = _object_merger(lambda _: _merge_free)


def _list_merger(type_: Type) -> Merge:
    keyed, element = item_key(type_), element_of(type_)

    def merge(live: Any, config: Any) -> Any:
        if not live:
            return _merge_leaf(live, config)
        if not config:
            return live
        merged = _merged_items(live, config, list(map(keyed, live)), list(map(keyed, config)), element)
        if len(merged) == len(live) and all(map(_is, merged, live)):
            return live
        return merged

    return merge


def _is(a: Any, b: Any) -> bool:
    return a is b


def _merged_items(
    live: list[Any], config: list[Any], live_keys: list[str], keys: list[str], element: Type
) -> list[Any]:
    """Items of both lists: the applied ones in the order applied, the others keeping their places among them."""
    merge = merger(element)
    by_key: dict[str, Any] = {}
    for key, item in zip(live_keys, live, strict=True):
        by_key[key] = None if key in by_key else item  # an item that stands twice is not merged with
    applied = set(keys)
    shared = iter([key for key in keys if key in by_key])
    next_shared = next(shared, None)
    done: set[str] = set()
    merged: list[Any] = []

    def take(at: int) -> None:
        key = keys[at]
        done.add(key)
        old = by_key.get(key)
        merged.append(config[at] if old is None else merge(old, config[at]))

    left, right = 0, 0
    while left < len(live) or right < len(config):
        if left < len(live) and right < len(config):
            key = live_keys[left]
            if key == keys[right]:
                take(right)
                left, right, next_shared = left + 1, right + 1, next(shared, None)
                continue
            if key in applied and next_shared is not None and next_shared != key:
                left += 1  # its turn comes with the applied items
                continue
        if left < len(live):
            key = live_keys[left]
            if key not in applied:
                merged.append(live[left])
                left += 1
                continue
            if key in done:
                left += 1
        if right < len(config):
            take(right)
            if next_shared == keys[right]:
                next_shared = next(shared, None)
            right += 1
    return merged
