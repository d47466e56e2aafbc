"""Comparisons in JSONPath filters: only values of the same type compare, as in Go's templates."""

from __future__ import annotations

from typing import Any

from gateway.kinds.columns.jsonpath_nodes import PathError

_ORDERED = (int, float, str)


def compare(operator: str, left: Any, right: Any) -> bool:
    """Whether `left operator right` is true. Raises PathError for values that cannot be compared so."""
    kind = _kind(left)
    if kind is not _kind(right):
        raise PathError("incompatible types for comparison")
    if operator not in ("==", "!=") and kind not in _ORDERED:
        raise PathError("invalid type for comparison")
    match operator:
        case "==":
            return bool(left == right)
        case "!=":
            return bool(left != right)
        case "<":
            return bool(left < right)
        case "<=":
            return bool(left <= right)
        case ">":
            return bool(left > right)
        case ">=":
            return bool(left >= right)
    raise PathError(f"unrecognized filter operator {operator}")


def _kind(value: Any) -> type:
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind
    raise PathError("invalid type for comparison")
