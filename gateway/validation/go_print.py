"""Prints numbers and JSON values as %v and %T of Go's fmt do, for error messages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from gateway.jsontypes import Whole

_PLAIN = range(-4, 6)  # decimal exponents that %v does not write


def go_float(value: float) -> str:
    """A float64 as Go's %v prints it: the shortest form, with an exponent below 1e-4 and from 1e6 on."""
    exact = Decimal(repr(value)).normalize()
    if exact.adjusted() not in _PLAIN:
        digits, _, exponent = f"{exact:e}".partition("e")
        return f"{digits}e{int(exponent):+03d}"
    return format(exact, "f")


def go_number(value: float) -> str:
    """A JSON number as Go's %v prints it: as an integer if it was written as one and fits 64 bits, else as a float."""
    if isinstance(value, int) and type(value) is not Whole and _fits(value):
        return str(value)
    return go_float(float(value))


def _fits(value: int) -> bool:
    return -(2**63) <= value < 2**63


def go_print(value: Any) -> str:
    """A value as Go's %v prints it: `map[a:1 b:[x y]]`, with sorted keys, and strings without quotes."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return go_number(value)
        case dict():
            return "map[" + " ".join(f"{key}:{go_print(value[key])}" for key in sorted(value)) + "]"
        case list():
            return "[" + " ".join(map(go_print, value)) + "]"
        case _:
            return str(value)


def go_type(value: Any) -> str:
    """The Go type that holds a decoded JSON value."""
    match value:
        case None:
            return "%!s(<nil>)"
        case bool():
            return "bool"
        case int() if type(value) is not Whole and _fits(value):
            return "int64"
        case int() | float():
            return "float64"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case _:
            return "map[string]interface {}"
