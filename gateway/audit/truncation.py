"""Truncation of events: an event that is too large loses its objects; if it is still too large, it is dropped.

The rules are those of apiserver's `plugin/pkg/audit/truncate`. The size of an event is that of its encoded form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gateway.audit.event import TRUNCATED, AuditEvent


@dataclass(frozen=True, slots=True)
class EventSizes:
    """The limits in bytes of an event, and of the events of one batch together."""

    event: int = 100 << 10
    batch: int = 10 << 20


class EventTooLarge(ValueError):
    """An event is too large even without its objects."""

    def __init__(self) -> None:
        super().__init__("event is too large even after truncating")


def fitting(event: AuditEvent, encode: Callable[[AuditEvent], bytes], bounds: EventSizes | None) -> bytes:
    """Encodes an event with `encode`, without its objects if it would be too large with them. Raises EventTooLarge."""
    data = encode(event)
    if bounds is None or len(data) <= bounds.event:
        return data
    if event.meta["level"] in ("Request", "RequestResponse"):
        data = encode(replace(event, request=None, response=None, annotations={**event.annotations, TRUNCATED: "true"}))
    if len(data) > bounds.event:
        raise EventTooLarge
    return data


def batches(items: Sequence[bytes], bounds: EventSizes | None) -> Iterator[list[bytes]]:
    """Splits encoded events into batches within the limit; a batch of one event may exceed it."""
    batch, size = list[bytes](), 0
    for item in items:
        if bounds is not None and batch and size + len(item) > bounds.batch:
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += len(item)
    if batch:
        yield batch
