"""Checks numbers by the schemas of custom resources, in kube-openapi's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, invalid
from gateway.validation.go_print import go_float

_RANGES = {"int32": range(-(2**31), 2**31), "int64": range(-(2**63), 2**63)}
_MOST_EXACT = 2**53 - 1
_MOST_FLOAT32 = 3.4028234663852886e38

Part = Callable[[Any, str, Any, list[FieldError]], None]


def compile_number(schema: JsonObject, *, ranged: bool = True) -> Part | None:
    """Returns the check of numbers by a schema; None if the schema does not restrict them.

    `ranged` says whether a number must be in the range of its type and format.
    """
    kind, form = schema.get("type", ""), schema.get("format", "")
    if schema.get("x-kubernetes-int-or-string") or not ranged:
        kind = form = ""
    bounds = [_multiple(schema.get("multipleOf"), kind, form)] if schema.get("multipleOf") is not None else []
    for key, exclusive, above in (("maximum", "exclusiveMaximum", True), ("minimum", "exclusiveMinimum", False)):
        if schema.get(key) is not None:
            bounds.append(_bound(schema[key], bool(schema.get(exclusive)), above, kind, form))
    if not bounds and kind != "integer" and form != "float":
        return None

    def check(value: Any, name: str, was: Any, found: list[FieldError]) -> None:
        if problem := _range_problem(value, kind, form, "Checked", name):
            found.append(invalid("<nil>", "", problem))
        for bound in bounds:
            bound(value, name, was, found)

    return check


def _range_problem(value: float, kind: str, form: str, what: str, name: str) -> str:
    """The message about a number that does not fit the type and format; "" if it fits. It begins with `what`."""
    if kind == "integer":
        known = _RANGES.get(form)
        whole = isinstance(value, int) or value.is_integer()
        if not (whole and int(value) in (known or _RANGES["int64"])):
            of = f"integer with format {form}" if known else "integer (default format)"
            return f"{what} value must be of type {of} in {name}"
    elif kind == "number" and form == "float" and abs(value) > _MOST_FLOAT32:
        return f"{what} value must be of type number with format float in {name}"
    return ""


def _field(name: str) -> str:
    return name.removeprefix(".") or "<nil>"


def _multiple(factor: Any, kind: str, form: str) -> Part:
    def check(value: Any, name: str, was: Any, found: list[FieldError]) -> None:
        by: float = float(factor)
        if problem := _range_problem(factor, kind, form, "MultipleOf", name):
            found.append(invalid("<nil>", "", problem))
        elif _is_integer(value):
            by = int(factor)
        if by <= 0:
            message = f"factor MultipleOf declared for {name} must be positive: {number_text(by)}"
            found.append(invalid(_field(name), by, message))
        elif not _divides(by, value):
            found.append(invalid(_field(name), value, f"{name} in body should be a multiple of {number_text(by)}"))

    return check


def _is_integer(value: float) -> bool:
    """Whether Go holds a value as an integer: it then converts the limits to integers, too."""
    return type(value) is int and value in _RANGES["int64"]


def _divides(factor: float, value: float) -> bool:
    if isinstance(factor, int) and isinstance(value, int):
        return value % factor == 0
    quotient = 1 / factor * value if factor < 1 else value / factor
    return abs(quotient) <= _MOST_EXACT and float(quotient).is_integer()


def _bound(limit: Any, exclusive: bool, above: bool, kind: str, form: str) -> Part:
    words = ("less than" if above else "greater than") + ("" if exclusive else " or equal to")
    what = "Maximum boundary" if above else "Minimum boundary"

    def check(value: Any, name: str, was: Any, found: list[FieldError]) -> None:
        bound: float = float(limit)
        if problem := _range_problem(limit, kind, form, what, name):
            found.append(invalid("<nil>", "", problem))
        elif _is_integer(value):
            bound = int(limit)
        over = value > bound if above else value < bound
        if over or (exclusive and value == bound):
            found.append(invalid(_field(name), value, f"{name} in body should be {words} {number_text(bound)}"))

    return check


def number_text(value: float) -> str:
    """A limit as Go's %v prints it: an integer, or a float."""
    return str(value) if isinstance(value, int) else go_float(value)
