"""Checks of resource quantities ("100m", "1Gi"), which arrive in their canonical form."""

from __future__ import annotations

from typing import Any

from gateway.schema.quantity import Quantity, QuantityError, parse_quantity
from gateway.validation.field import FieldError, invalid
from gateway.validation.formats import NOT_NEGATIVE, POSITIVE
from gateway.validation.resource_names import is_integer_resource

ZERO = Quantity(0)
NANO = 10**9


def quantity_of(value: Any) -> Quantity:
    """The quantity of a value; zero if it is absent or invalid."""
    if value is None:
        return ZERO
    try:
        return parse_quantity(value if isinstance(value, str) else str(value))
    except QuantityError:
        return ZERO


def nano(value: Any) -> int:
    """The value in billionths; 0 for an absent quantity."""
    return quantity_of(value).scaled(-9)


def is_negative(value: Any) -> bool:
    return quantity_of(value).unscaled < 0


def is_fractional(value: Any) -> bool:
    """Whether the value, rounded away from zero to thousandths, is not a whole number."""
    return quantity_of(value).milli_value % 1000 != 0


def validate_quantity(resource: str, value: Any, path: str, errors: list[FieldError]) -> None:
    """The quantity must not be negative; for resources that are counted, it must be whole."""
    if is_negative(value):
        errors.append(invalid(path, value, NOT_NEGATIVE))
    if is_integer_resource(resource) and is_fractional(value):
        errors.append(invalid(path, value, "must be an integer"))


def validate_positive_quantity(value: Any, path: str) -> list[FieldError]:
    return [invalid(path, value, POSITIVE)] if quantity_of(value).unscaled <= 0 else []


def validate_nonnegative_quantity(value: Any, path: str) -> list[FieldError]:
    return [invalid(path, value, NOT_NEGATIVE)] if is_negative(value) else []
