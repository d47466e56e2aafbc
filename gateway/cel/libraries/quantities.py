"""Kubernetes' library of resource quantities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.cel.values import INT_MAX, INT_MIN, EvaluationError, register
from gateway.schema.quantity import Quantity, QuantityError, SuffixFamily, parse_quantity

register(Quantity, "kubernetes.Quantity")


def quantity(text: str) -> Quantity:
    """Parses a quantity. Raises EvaluationError."""
    try:
        return parse_quantity(text)
    except QuantityError as error:
        raise EvaluationError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True


def _order(one: Quantity, other: Quantity) -> int:
    return (one > other) - (one < other)


def _as_integer(of: Quantity) -> int | None:
    """The number, if it is an integer of 64 bits with a scale of 0 to 18; else None."""
    if of.scale < 0 or of.scale > 18:
        return None
    number = of.unscaled * 10**of.scale
    return number if INT_MIN <= number <= INT_MAX else None


def _integer(of: Quantity) -> int:
    if (number := _as_integer(of)) is None:
        raise EvaluationError("cannot convert value to integer")
    return number


def _whole(number: int) -> Quantity:
    return Quantity(number, 0, SuffixFamily.EXPONENT)


def _approximate(of: Quantity) -> float:
    try:
        if of.scale < 0:
            return float(of.unscaled / 10**-of.scale)
        return float(of.unscaled) * 10.0**of.scale if of.unscaled else 0.0
    except OverflowError:
        return float("inf") if of.unscaled > 0 else float("-inf")


OVERLOADS: dict[str, Callable[..., Any]] = {
    "string_to_quantity": quantity,
    "is_quantity_string": _is_quantity,
    "quantity_sign": lambda of: (of.unscaled > 0) - (of.unscaled < 0),
    "quantity_is_greater_than": lambda one, other: one > other,
    "quantity_is_less_than": lambda one, other: one < other,
    "quantity_compare_to": _order,
    "quantity_get_float": _approximate,
    "quantity_get_int": _integer,
    "quantity_is_integer": lambda of: _as_integer(of) is not None,
    "quantity_add": lambda one, other: one + other,
    "quantity_add_int": lambda one, number: one + _whole(number),
    "quantity_sub": lambda one, other: one - other,
    "quantity_sub_int": lambda one, number: one - _whole(number),
}
