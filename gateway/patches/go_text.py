"""How Go prints JSON values (the %v and %T of fmt), for the error messages that quote them."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import Whole
from gateway.validation.go_numbers import go_float


def go_print(value: Any) -> str:
    """A value as Go's %v has it: `map[a:1 b:[x y]]`, keys sorted, strings bare."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case float() | Whole():
            return go_float(float(value))
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
        case int() if type(value) is not Whole:
            return "int64"
        case int() | float():
            return "float64"
        case str():
            return "string"
        case list():
            return "[]interface {}"
        case _:
            return "map[string]interface {}"
