"""Kubernetes' list library, and cel-go's (ext.Lists, version 3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from gateway.cel.equality import compare, equal
from gateway.cel.libraries.standard import add
from gateway.cel.values import Duration, EvaluationError, Uint, type_name

_TYPES = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_RUNTIME = ("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes")
_ZEROS: dict[str, Any] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
_ORDER = cmp_to_key(compare)
_LISTS = (list, tuple)


def _is_sorted(items: list[Any]) -> bool:
    return all(_order(one, other) <= 0 for one, other in pairwise(items))


def _order(one: Any, other: Any) -> int:
    try:
        return compare(one, other)
    except EvaluationError:
        return 0  # values without an order count as equal here


def _sum(zero: Any) -> Callable[[list[Any]], Any]:
    def call(items: list[Any]) -> Any:
        total = zero
        for each in items:
            total = add(total, each)
        return total

    return call


def _best(name: str, preferred: int) -> Callable[[list[Any]], Any]:
    def call(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        best = items[0]
        for each in items[1:]:
            if _order(best, each) == preferred:
                best = each
        return best

    return call


def _index_of(items: list[Any], item: Any) -> int:
    return next((at for at, each in enumerate(items) if equal(each, item)), -1)


def _includes(target: Any, item: Any) -> bool:
    """Whether a list has an item, or another value is that item; a comparison that fails does not count."""
    return any(_equals(each, item) for each in (target if isinstance(target, _LISTS) else (target,)))


def _equals(one: Any, other: Any) -> bool:
    try:
        return equal(one, other)
    except EvaluationError:
        return False


def _last_index_of(items: list[Any], item: Any) -> int:
    return next((at for at in range(len(items) - 1, -1, -1) if equal(items[at], item)), -1)


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    asked = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        raise EvaluationError(f"{asked}, negative indexes not supported")
    if start > end:
        raise EvaluationError(f"{asked}, start index must be less than or equal to end index")
    if len(items) < end:
        raise EvaluationError(f"{asked}, list is length {len(items)}")
    return list(items[start:end])


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    flat = list[Any]()
    for each in items:
        if isinstance(each, _LISTS) and depth:
            flat += _flatten(each, depth - 1)  # type: ignore[arg-type]
        else:
            flat.append(each)
    return flat


def _sort_by(items: list[Any], keys: list[Any]) -> list[Any]:
    if len(items) != len(keys):
        sizes = f"got {len(items)} and {len(keys)} elements respectively"
        wanted = "a list of the same size as the associated keys list"
        raise EvaluationError(f"@sortByAssociatedKeys() expected {wanted}, but {sizes}")
    if not items:
        return items
    kind = type_name(keys[0])
    if kind not in _RUNTIME:
        raise EvaluationError("list elements must be comparable")
    if any(type_name(each) != kind for each in keys):
        raise EvaluationError("list elements must have the same type")
    return [items[at] for at in sorted(range(len(items)), key=lambda at: _ORDER(keys[at]))]


def _distinct(items: list[Any]) -> list[Any]:
    found = list[Any]()
    for each in items:
        if not any(equal(each, other) for other in found):
            found.append(each)
    return found


OVERLOADS: dict[str, Callable[..., Any]] = {
    **{f"list_{name}_is_sorted_bool": _is_sorted for name in _TYPES},
    **{f"list_{name}_sum_{name}": _sum(zero) for name, zero in _ZEROS.items()},
    **{f"list_{name}_max_{name}": _best("max", -1) for name in _TYPES},
    **{f"list_{name}_min_{name}": _best("min", 1) for name in _TYPES},
    "list_a_index_of_int": _index_of,
    "list_a_last_index_of_int": _last_index_of,
    "list_includes_dyn_dyn": _includes,
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    **{f"list_{name}_sort": lambda items: _sort_by(items, items) for name in _RUNTIME},
    **{f"list_{name}_sortByAssociatedKeys": _sort_by for name in _RUNTIME},
    "lists_range": lambda count: list(range(count)),
    "list_reverse": lambda items: items[::-1],
    "list_distinct": _distinct,
}
