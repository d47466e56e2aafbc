"""Values that are a number or a percentage, as in rolling updates and disruption budgets."""

from __future__ import annotations

from typing import Any

from gateway.schema.integers import clamped, is_integer
from gateway.validation.field import FieldError, invalid
from gateway.validation.formats import NOT_NEGATIVE, is_percent


def validate_int_or_percent(value: Any, path: str) -> list[FieldError]:
    """A number must not be negative; a string must be a percentage."""
    if isinstance(value, str):
        return [invalid(path, value, message) for message in is_percent(value)]
    return [invalid(path, value, NOT_NEGATIVE)] if value < 0 else []


def validate_at_most_100_percent(value: Any, path: str) -> list[FieldError]:
    if isinstance(value, str) and not is_percent(value) and clamped(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def number_of(value: Any) -> int:
    """The number, or the number of the percentage. For another string, the integer that it is, else 0."""
    if isinstance(value, str):
        text = value[:-1] if not is_percent(value) else value
        return clamped(text) if is_integer(text) and text[0] != "+" else 0
    return int(value)
