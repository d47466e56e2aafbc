"""What is counted of etcd and of the watch cache, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Awaitable
from time import monotonic
from typing import TypeVar

from storage.errors import StorageError
from storage.instruments import BETA, counter, histogram

R = TypeVar("R")

_OF_CALLS = ("operation", "group", "resource")

DURATION = histogram(
    "etcd_request_duration_seconds",
    "Time that etcd took.",
    *_OF_CALLS,
    buckets=(
        0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
    ),
)  # fmt: skip
REQUESTS = counter("etcd_requests_total", "Calls of etcd.", *_OF_CALLS)
ERRORS = counter("etcd_request_errors_total", "Calls of etcd that failed.", *_OF_CALLS)
RECEIVED = counter(
    "apiserver_storage_events_received_total", "Changes that etcd has told of.", "group", "resource", level=BETA
)
TAKEN = counter("apiserver_watch_cache_events_received_total", "Changes that the cache took.", "group", "resource")
BEGUN = counter(
    "apiserver_watch_cache_initializations_total", "Times that the cache was filled anew.", "group", "resource"
)
CONSISTENT = counter(
    "apiserver_watch_cache_consistent_read_total",
    "Reads of the most recent state that the cache was asked for.",
    "success",
)
TAKEN.reads(lambda: {labels: child.value for labels, child in RECEIVED.children()})


async def measured(operation: str, group_resource: tuple[str, str], call: Awaitable[R]) -> R:
    """What a call of etcd returns; it is counted under its operation and the resource that it is about."""
    labels = (operation, *group_resource)
    began = monotonic()
    try:
        return await call
    except StorageError:
        ERRORS.labels(*labels).inc()
        raise
    finally:
        DURATION.labels(*labels).observe(monotonic() - began)
        REQUESTS.labels(*labels).inc()
