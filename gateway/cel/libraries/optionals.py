"""cel-go's optional values (cel.OptionalTypes)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.cel.values import NONE, Duration, EvaluationError, Optional, Timestamp


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _is_zero(value: Any) -> bool:
    match value:
        case None | False | "" | b"":
            return True
        case int() | float():
            return value == 0
        case list() | dict():
            return not value
        case Duration():
            return value.nanos == 0
        case Timestamp():
            return value.nanos == -62135596800 * 10**9
        case Optional():
            return not value.present
    return False


def _unwrap(items: list[Optional]) -> list[Any]:
    return [each.value for each in items if each.present]


OVERLOADS: dict[str, Callable[..., Any]] = {
    "optional_hasValue": lambda optional: optional.present,
    "optional_value": _value,
    "optional_none": lambda: NONE,
    "optional_of": Optional,
    "optional_ofNonZeroValue": lambda value: NONE if _is_zero(value) else Optional(value),
    "optional_unwrap": _unwrap,
    "optional_unwrapOpt": _unwrap,
    "list_first": lambda items: Optional(items[0]) if items else NONE,
    "list_last": lambda items: Optional(items[-1]) if items else NONE,
}
