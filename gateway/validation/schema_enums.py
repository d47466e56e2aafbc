"""Whether a value is one of those that a schema lists (`enum`), found at once however many are listed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gateway.jsontypes import JsonObject, as_read, dumps_sorted
from gateway.time_limits import look
from gateway.validation.field import FieldError, not_supported

_LAST_CODE_POINT = 0x10FFFF


def compile_enum(schema: JsonObject) -> Callable[[Any, str], FieldError | None] | None:
    """What gives the error of a value at a field that is not among those of a schema; None for a schema without.

    Raises TakesLong on an event loop where very many are listed.
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
        """Values are converted to the type of what is listed, as Go converts numbers; an integer is a code point."""
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
