"""Metrics of each control plane (--control-planes-metrics), read from the rows at a scrape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from storage.instruments import counter, gauge

if TYPE_CHECKING:
    from gateway.clusters.row import ClusterRow
    from storage.instruments.families import Labels

REST = ""
"""The label of all control planes together that have no series of their own."""

REQUESTS = counter(
    "control_plane_requests_total",
    "Requests to a control plane, with --control-planes-metrics; the name is empty for all beyond that number.",
    "control_plane",
    level="",
)
WATCHES = gauge(
    "control_plane_watches",
    "Open watches of a control plane, with --control-planes-metrics.",
    "control_plane",
    level="",
)
AWAKE = gauge(
    "control_plane_awake",
    "Whether a control plane is in memory, with --control-planes-metrics.",
    "control_plane",
    level="",
)


class _Labels:
    """The label of each row, which stays as long as the row, and the requests to rows that are gone."""

    def __init__(self, most: int) -> None:
        """At most `most` rows have a name of their own."""
        self._most = most
        self._labels: dict[str, str] = {}  # by uid
        self._requests: dict[str, int] = {}  # by uid, as of the last scrape
        self.past = 0  # requests to rows of the rest that are gone: a counter never falls

    def of(self, rows: Iterable[ClusterRow]) -> list[tuple[str, ClusterRow]]:
        """The rows with their labels."""
        present = {row.described.uid: row for row in rows}
        for uid in self._labels.keys() - present.keys():
            requests = self._requests.pop(uid)
            if self._labels.pop(uid) == REST:
                self.past += requests
        named = sum(label != REST for label in self._labels.values())
        for uid, row in present.items():
            if uid not in self._labels:
                self._labels[uid] = row.described.name if named < self._most else REST
                named += self._labels[uid] != REST
            self._requests[uid] = row.requests
        return [(self._labels[uid], row) for uid, row in present.items()]


def follow(rows: Callable[[], Iterable[ClusterRow]], most: int) -> None:
    """Makes the families report these rows: the first `most` of them, and all others together."""
    labels = _Labels(most)

    def read(value_of: Callable[[ClusterRow], int]) -> dict[Labels, float]:
        found = Counter[str]()
        for label, row in labels.of(rows()):
            found[label] += value_of(row)
        return {(name,): value for name, value in found.items()}

    def requests() -> dict[Labels, float]:
        found = read(lambda row: row.requests)
        if labels.past:
            found[REST,] = found.get((REST,), 0) + labels.past
        return found

    REQUESTS.reads(requests)
    WATCHES.reads(lambda: read(lambda row: 0 if row.awake is None else row.awake.gateway.services.watches.total()))
    AWAKE.reads(lambda: read(lambda row: row.awake is not None))
