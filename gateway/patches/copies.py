"""What copies of parts of a document count for, when a JSON patch is applied."""

from __future__ import annotations

from typing import Any

LEAST_COPIED = 32  # bytes for which each array or object in a copy counts: it takes six times as many in memory


def size_of_copy(value: Any, data: bytes) -> int:
    """The bytes that a copy of a value counts for; `data` is its JSON."""
    size = len(data)
    if LEAST_COPIED * (data.count(b"[") + data.count(b"{")) > size:  # they may be in strings
        size = max(size, LEAST_COPIED * _containers_in(value))
    return size


def _containers_in(value: Any) -> int:
    """The number of arrays and objects in a value, itself included."""
    count, left = 0, [value]
    while left:
        each = left.pop()
        if isinstance(each, dict | list):
            count += 1
            left += each.values() if isinstance(each, dict) else each
    return count
