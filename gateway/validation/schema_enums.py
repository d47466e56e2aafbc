"""Checks whether a schema lists a value (`enum`), in a time that does not depend on how many values are listed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gateway.jsontypes import JsonObject, as_read, dumps_sorted
from gateway.time_limits import look
from gateway.validation.field import FieldError, not_supported

_LAST_CODE_POINT = 0x10FFFF


def compile_enum(schema: JsonObject) -> Callable[[Any, str], FieldError | None] | None:
    """Returns a check that takes a value and its field, and returns the error if the schema does not list the value.

    Returns None for a schema without `enum`. Raises TakesLong on an event loop for a very long list.
    """
    known = schema.get("enum")
    if not known:
        return None
    shown = tuple(one if isinstance(one, str) else _shown(one) for one in known)
    texts = frozenset(one for one in known if isinstance(one, str))
    numbers = [one for one in known if _is_number(one)]
    integers = frozenset(one for one in numbers if isinstance(one, int))
    floats = frozenset(float(one) for one in numbers if isinstance(one, float))
    others = frozenset(_spelt(one) for one in known if one is not None and not _is_number(one))

    def holds(value: Any) -> bool:
        """As in Go, a number is converted to the type of each listed value: as a string, an integer is a character."""
        if type(value) is str:
            return value in texts
        if not _is_number(value):
            return _spelt(value) in others
        if int(value) in integers or float(value) in floats:
            return True
        return isinstance(value, int) and _character(value) in texts

    return lambda value, field: None if holds(value) else not_supported(field, value, shown)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    look()
    return json.dumps(value, separators=(",", ":"))


def _spelt(value: Any) -> str:
    return dumps_sorted(as_read(value)).decode()


def _character(code: int) -> str:
    return chr(code) if 0 <= code <= _LAST_CODE_POINT else "\ufffd"
