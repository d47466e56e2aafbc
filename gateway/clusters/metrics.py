"""Metrics of each control plane (--control-planes-metrics), read from the rows at a scrape: nothing outlives a row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from storage.instruments import counter, gauge

if TYPE_CHECKING:
    from gateway.clusters.table import ClusterRow
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


def follow(rows: Callable[[], Iterable[ClusterRow]], most: int) -> None:
    """Makes the families report these rows: the first `most` of them, and all others together."""

    def read(value_of: Callable[[ClusterRow], int]) -> Callable[[], Mapping[Labels, float]]:
        def values() -> Mapping[Labels, float]:
            found = Counter[str]()
            for place, row in enumerate(rows()):
                found[row.described.name if place < most else REST] += value_of(row)
            return {(name,): value for name, value in found.items()}

        return values

    REQUESTS.reads(read(lambda row: row.requests))
    WATCHES.reads(read(lambda row: 0 if row.awake is None else row.awake.gateway.services.watches.total()))
    AWAKE.reads(read(lambda row: row.awake is not None))
