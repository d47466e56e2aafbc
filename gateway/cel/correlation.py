"""Finds the old value of a part of an object, and whether it changed ("Validation ratcheting", KEP-4008)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gateway.jsontypes import JsonObject

_NOT_YET = object()


def composite_key(item: Any, keys: list[str]) -> Any:
    """The values of an item's keys in a keyed list (list-type map); None if a key is missing."""
    if not isinstance(item, dict):
        return None
    parts = list[Any]()
    for key in keys:
        part = item.get(key)
        if not isinstance(part, bool | int | float | str):
            return None
        parts.append((type(part) is bool, part))
    return tuple(parts)


def by_key(schema: JsonObject, items: list[Any]) -> Callable[[Any], Any]:
    """A function that finds, in a keyed list, the item with the same keys as its argument, or None.

    For lists that are not keyed, it always returns None.
    """
    keys = schema.get("x-kubernetes-list-map-keys")
    if schema.get("x-kubernetes-list-type") != "map" or not keys or not items:
        return lambda item: None
    known = dict[Any, Any]()
    for item in items:
        if (key := composite_key(item, keys)) is not None:
            known.setdefault(key, item)
    return lambda item: known.get(composite_key(item, keys))


@dataclass(slots=True)
class Correlation:
    """A value, its old value, and the schema of both."""

    value: Any
    old: Any
    schema: JsonObject
    _equal: bool | None = None
    _below: dict[str | int, Correlation | None] = field(default_factory=dict)
    _find: Any = _NOT_YET

    def key(self, name: str) -> Correlation | None:
        """The correlation of a member; None if the member is new, or not in the schema."""
        if name not in self._below:
            self._below[name] = self._member(name)
        return self._below[name]

    def _member(self, name: str) -> Correlation | None:
        if not isinstance(self.old, dict) or not isinstance(self.value, dict):
            return None
        if name not in self.old or name not in self.value:
            return None
        below = (self.schema.get("properties") or {}).get(name)
        if below is None and isinstance(additional := self.schema.get("additionalProperties"), dict):
            below = additional
        return None if below is None else Correlation(self.value[name], self.old[name], below)

    def index(self, at: int) -> Correlation | None:
        """The correlation of an item of a keyed list; None in other lists."""
        if at not in self._below:
            self._below[at] = self._item(at)
        return self._below[at]

    def _item(self, at: int) -> Correlation | None:
        if not isinstance(self.old, list) or not isinstance(self.value, list) or at >= len(self.value):
            return None
        if self._find is _NOT_YET:
            self._find = by_key(self.schema, self.old)
        old, items = self._find(self.value[at]), self.schema.get("items")
        if old is None or not isinstance(items, dict):
            return None
        return Correlation(self.value[at], old, items)

    def equal(self) -> bool:
        """Whether the value is unchanged. The order of a keyed list does not matter."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _compare(self) -> bool:
        value, old = self.value, self.old
        if value is None or old is None:
            return value is old
        if isinstance(value, list) and isinstance(old, list):
            return len(value) == len(old) and self._compare_lists(value, old)
        if isinstance(value, dict) and isinstance(old, dict):
            return len(value) == len(old) and all(_unchanged(self.key(name)) for name in value)
        return same_json(value, old)

    def _compare_lists(self, value: list[Any], old: list[Any]) -> bool:
        if self.schema.get("x-kubernetes-list-type") != "map":
            return same_json(value, old)
        return all(_unchanged(self.index(at)) for at in range(len(value)))


def _unchanged(of: Correlation | None) -> bool:
    return of is not None and of.equal()


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same. 1 and 1.0 are not."""
    if one != other:
        return False
    return type(one) is str or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@dataclass(slots=True)
class Ratchet:
    """The correlation of a part of an object, and that of the nearest part around it."""

    current: Correlation | None
    parent: Correlation | None = None

    def unchanged(self) -> bool:
        """Whether this part is unchanged, so that its errors become warnings."""
        return _unchanged(self.current if self.current is not None else self.parent)

    def key(self, name: str) -> Ratchet:
        """The ratchet of a member."""
        if self.current is None:
            return self
        if self.parent is None and name in ("apiVersion", "kind"):
            return Ratchet(None)  # the old object was converted to the same version
        return Ratchet(self.current.key(name), self.current)

    def index(self, at: int) -> Ratchet:
        """The ratchet of a list's item."""
        return self if self.current is None else Ratchet(self.current.index(at), self.current)
