"""The text of a JSON value in a cell, as Go's fmt ("%v") or encoding/json writes it."""

from __future__ import annotations

from typing import Any

import orjson

from gateway.jsontypes import go_escaped, json_float
from gateway.validation.go_print import go_float

MAX_DEPTH = 200


def printed(value: Any) -> str:
    """A value as fmt.Sprint writes it; objects and lists as JSON. Raises ValueError as `encoded` does."""
    match value:
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case float():
            return go_float(value)
        case dict() | list():
            return encoded(value)
    return str(value)


def encoded(value: Any) -> str:
    """Compact JSON with the members in the order of their names, and <, > and & escaped.

    Raises ValueError for a value that is nested more deeply than MAX_DEPTH.
    """
    text: str = orjson.dumps(_with_go_floats(value), option=orjson.OPT_SORT_KEYS).decode()
    return go_escaped(text)


def _with_go_floats(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, float):
        return orjson.Fragment(json_float(value))
    if isinstance(value, dict):
        return {key: _with_go_floats(item, depth + 1) for key, item in value.items()}
    return [_with_go_floats(item, depth + 1) for item in value] if isinstance(value, list) else value
