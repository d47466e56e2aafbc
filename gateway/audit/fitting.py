"""Truncation of events: a large event loses its objects; one that is still too large is dropped.

The rules are those of apiserver's `plugin/pkg/audit/truncate`. An event's size is that of its line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gateway.audit.event import TRUNCATED, Event


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bytes of an event, and of those that are sent together."""

    event: int = 100 << 10
    batch: int = 10 << 20


class TooLarge(ValueError):
    """An event is too large even without its objects."""

    def __init__(self) -> None:
        super().__init__("event is too large even after truncating")


def fitting(event: Event, encode: Callable[[Event], bytes], bounds: Bounds | None) -> bytes:
    """An event as `encode` writes it, without its objects where it would be too large with them. Raises TooLarge."""
    data = encode(event)
    if bounds is None or len(data) <= bounds.event:
        return data
    if event.meta["level"] in ("Request", "RequestResponse"):
        data = encode(replace(event, request=None, response=None, annotations={**event.annotations, TRUNCATED: "true"}))
    if len(data) > bounds.event:
        raise TooLarge
    return data


def batches(items: Sequence[bytes], bounds: Bounds | None) -> Iterator[list[bytes]]:
    """Encoded events in pieces that are not too large together; one alone never is."""
    batch, size = list[bytes](), 0
    for item in items:
        if bounds is not None and batch and size + len(item) > bounds.batch:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += len(item)
    if batch:
        yield batch
