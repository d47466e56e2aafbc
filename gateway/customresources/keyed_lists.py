"""Finds duplicate items in lists of x-kubernetes-list-type set or map."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, duplicate, invalid, path_to

Check = Callable[[Any, str], list[FieldError]]


def compile_lists(schema: JsonObject) -> Check | None:
    """A function from a value and its path to the errors of duplicate items. None if no list is a set or map."""
    items, additional, kind = (
        schema.get("items"),
        schema.get("additionalProperties"),
        schema.get("x-kubernetes-list-type"),
    )
    each = compile_lists(items) if isinstance(items, dict) else None
    others = compile_lists(additional) if isinstance(additional, dict) else None
    members = {name: one for name, below in (schema.get("properties") or {}).items() if (one := compile_lists(below))}
    keys: list[str] = schema.get("x-kubernetes-list-map-keys") or []
    if kind not in ("set", "map") and each is None and others is None and not members:
        return None

    def check(value: Any, path: str) -> list[FieldError]:
        found = list[FieldError]()
        if isinstance(value, list):
            if kind == "set":
                found += [duplicate(f"{path}[{i}]", value[i]) for i in _repeated(value)]
            elif kind == "map":
                found += _repeated_keys(value, keys, path)
            if each is not None:
                for i, item in enumerate(value):
                    found += each(item, f"{path}[{i}]")
        elif isinstance(value, dict):
            if others is not None:
                for name, member in value.items():
                    found += others(member, path_to(path, f"[{name}]"))
            for name, one in members.items():
                if name in value:
                    found += one(value[name], path_to(path, f".{name}" if path else name))
        return found

    return check


def _repeated(values: Iterable[Any]) -> list[int]:
    """The index of the second occurrence of each repeated value."""
    times: dict[str, int] = {}
    found = []
    for i, value in enumerate(values):
        text = json.dumps(value, sort_keys=True)
        times[text] = times.get(text, 0) + 1
        if times[text] == 2:
            found.append(i)
    return found


def _repeated_keys(value: list[Any], keys: list[str], path: str) -> list[FieldError]:
    for i, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            return [invalid(f"{path}[{i}]", item, "must be an object for an array of list-type map")]
    named = frozenset(keys)  # a set, because there may be thousands of keys and items
    found = [{key: part for key, part in item.items() if key in named} if item else {} for item in value]
    return [duplicate(f"{path}[{i}]", found[i]) for i in _repeated(found)]
