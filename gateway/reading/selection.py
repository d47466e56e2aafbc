"""Selects objects by their labels and fields in the served version, if a conversion may change these."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.endpoints.endpoint import Endpoint
from storage.entry import Entry
from storage.reads import Match
from storage.time_slice import TimeSlice


async def selected(endpoint: Endpoint, entries: Sequence[Entry], match: Match) -> list[Entry]:
    """The stored entries whose converted objects match. Raises ValueError, ConversionFailed."""
    labels_and_fields_of, kept = endpoint.cache.spec.labels_and_fields_of, []
    piece = TimeSlice()
    for index, (entry, served) in enumerate(zip(entries, await endpoint.versions.all(entries), strict=True)):
        if match(served.labels_and_fields(labels_and_fields_of)):
            kept.append(entry)
        if not index & 63 and piece.over():
            await piece.next()
    return kept
