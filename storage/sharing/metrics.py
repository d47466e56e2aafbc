"""Metrics of the shared memory."""

from __future__ import annotations

from storage.instruments import gauge
from storage.sharing.publisher import Publisher

OBJECTS = gauge("apiserver_shared_cache_objects", "Values that the feeder keeps for the workers (--shared-cache).")
BYTES = gauge("apiserver_shared_cache_bytes", "Shared memory that the feeder has given to values, in bytes.")
FOLLOWERS = gauge("apiserver_shared_cache_followers", "Workers that get changes from the feeder.")


def follow(publisher: Publisher) -> None:
    """Makes the families report the numbers of a publisher."""
    shelf = publisher.cache.shelf
    OBJECTS.reads(lambda: {(): len(shelf)})
    BYTES.reads(lambda: {(): sum(segment.size for segment in shelf.segments)})
    FOLLOWERS.reads(lambda: {(): publisher.followers})
