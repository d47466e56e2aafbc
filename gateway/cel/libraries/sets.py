"""cel-go's set library (ext.Sets): lists as sets, without regard to order and repetitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.cel.equality import member


def _contains(items: list[Any], part: list[Any]) -> bool:
    return all(member(each, items) for each in part)


def _equivalent(one: list[Any], other: list[Any]) -> bool:
    return _contains(one, other) and _contains(other, one)


def _intersects(one: list[Any], other: list[Any]) -> bool:
    return any(member(each, other) for each in one)


OVERLOADS: dict[str, Callable[..., Any]] = {
    "list_sets_contains_list": _contains,
    "list_sets_equivalent_list": _equivalent,
    "list_sets_intersects_list": _intersects,
}
