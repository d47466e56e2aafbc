"""Batches of objects that a conversion webhook gets in one review."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

MOST = 500  # objects of a batch
LARGEST = 2 << 20  # bytes of a batch, unless its only object is larger


def batches(items: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """The items in their order, in batches; `size_of` is about the bytes of one. Takes no more items than it needs."""
    batch, size = list[T](), 0
    for item in items:
        size += size_of(item)
        if batch and (len(batch) == MOST or size > LARGEST):
            yield batch
            batch, size = [], size_of(item)
        batch.append(item)
    if batch:
        yield batch
