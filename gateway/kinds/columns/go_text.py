"""JSON values as Go writes them: with fmt ("%v") and with encoding/json."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson

from gateway.jsontypes import GO_ESCAPES

MAX_DEPTH = 200
_SMALL, _LARGE = 1e-6, 1e21
_EXPONENTS = range(-4, 6)  # for which fmt writes no exponent


def printed(value: Any) -> str:
    """A value as fmt.Sprint shows it, and objects and lists as JSON."""
    match value:
        case None:
            return "<no value>"
        case bool():
            return "true" if value else "false"
        case float():
            return _shown(value)
        case dict() | list():
            return encoded(value)
    return str(value)


def encoded(value: Any) -> str:
    """Compact JSON with the members in the order of their names, and <, > and & escaped.

    Raises ValueError for what is nested more deeply than MAX_DEPTH.
    """
    text: str = orjson.dumps(_with_go_floats(value), option=orjson.OPT_SORT_KEYS).decode()
    return text.translate(GO_ESCAPES)


def _with_go_floats(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(value, float):
        return orjson.Fragment(json_float(value))
    if isinstance(value, dict):
        return {key: _with_go_floats(item, depth + 1) for key, item in value.items()}
    return [_with_go_floats(item, depth + 1) for item in value] if isinstance(value, list) else value


def json_float(number: float) -> str:
    """A float64 as encoding/json writes it: without an exponent unless it is very small or very large."""
    if number == 0 or _SMALL <= abs(number) < _LARGE:
        return _plain(number)
    digits, _, exponent = repr(number).partition("e")
    return f"{digits.removesuffix('.0')}e{int(exponent):+d}"


def _shown(number: float) -> str:
    exact = Decimal(repr(number)).normalize()
    if exact.adjusted() in _EXPONENTS:
        return _plain(number)
    digits, _, exponent = f"{exact:e}".partition("e")
    return f"{digits}e{int(exponent):+03d}"


def _plain(number: float) -> str:
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").removesuffix(".") if "." in text else text
