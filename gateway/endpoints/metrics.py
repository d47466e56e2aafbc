"""Metrics of an endpoint's watches, under kube-apiserver's names."""

from __future__ import annotations

from bisect import bisect_left

from storage.instruments import BETA, by, counter, exponential, histogram

_LABELS = ("group", "version", "resource")

_OF = (by("resource", "group", "resource"),)

EVENTS = counter("apiserver_watch_events_total", "Events sent to watches.", *_LABELS, of=_OF)
SIZES = histogram(
    "apiserver_watch_events_sizes", "Bytes of watch events.", *_LABELS, buckets=exponential(1024, 2, 8), of=_OF
)
LISTS = histogram(
    "apiserver_watch_list_duration_seconds",
    "Time until a watch has sent the initial state and the bookmark after it.",
    *_LABELS,
    "scope",
    buckets=(
        0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300,
    ),
    level=BETA,
    of=_OF,
)  # fmt: skip


class WatchMeasures:
    """The watch metrics of one endpoint."""

    __slots__ = ("_events", "_sizes")

    def __init__(self, group: str, version: str, resource: str) -> None:
        self._events, self._sizes = EVENTS.labels(group, version, resource), SIZES.labels(group, version, resource)

    def sent(self, events: int, size: int) -> None:
        """Counts events that were sent to a watch; `size` is the bytes of all together."""
        if events:
            self._events.value += events
            sizes = self._sizes
            sizes.counts[bisect_left(sizes.bounds, size / events)] += events
            sizes.total += size
