"""Metrics of an endpoint's watches, under kube-apiserver's names."""

from __future__ import annotations

from bisect import bisect_left

from storage.instruments import by, counter, exponential, histogram

_LABELS = ("group", "version", "resource")

_OF = (by("resource", "group", "resource"),)

EVENTS = counter("apiserver_watch_events_total", "Events sent to watches.", *_LABELS, of=_OF)
SIZES = histogram(
    "apiserver_watch_events_sizes", "Bytes of watch events.", *_LABELS, buckets=exponential(1024, 2, 8), of=_OF
)


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
