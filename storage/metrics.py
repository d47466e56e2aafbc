"""The metrics of etcd calls and of the watch cache, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Awaitable
from time import monotonic
from typing import TypeVar

from storage.errors import StorageError
from storage.instruments import BETA, by, counter, histogram
from storage.instruments.timing import current

R = TypeVar("R")

_OF_CALLS = ("operation", "group", "resource")
_OF_RESOURCE = (by("resource", "group", "resource"),)

DURATION = histogram(
    "etcd_request_duration_seconds",
    "Time that etcd took.",
    *_OF_CALLS,
    buckets=(
        0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
    ),
    of=_OF_RESOURCE,
)  # fmt: skip
REQUESTS = counter("etcd_requests_total", "Calls of etcd.", *_OF_CALLS)
ERRORS = counter("etcd_request_errors_total", "Calls of etcd that failed.", *_OF_CALLS, of=_OF_RESOURCE)
RECEIVED = counter(
    "apiserver_storage_events_received_total",
    "Changes received from etcd.",
    "group",
    "resource",
    level=BETA,
    of=_OF_RESOURCE,
)
TAKEN = counter(
    "apiserver_watch_cache_events_received_total", "Changes that the watch cache applied.", "group", "resource"
)
BEGUN = counter(
    "apiserver_watch_cache_initializations_total",
    "Times that the watch cache of a resource was filled.",
    "group",
    "resource",
    of=_OF_RESOURCE,
)
CONSISTENT = counter(
    "apiserver_watch_cache_consistent_read_total",
    "Consistent reads from the watch cache, by result.",
    "success",
)
REQUESTS.reads(lambda: {labels: sum(child.counts) for labels, child in DURATION.children()})
DISPATCHED = counter(
    "apiserver_watch_cache_events_dispatched_total", "Changes that were sent to watches.", "group", "resource"
)
_OF_LISTS = ("group", "resource")
STORAGE_LISTS = counter("apiserver_storage_list_total", "Lists that were read from etcd.", *_OF_LISTS, of=_OF_RESOURCE)
STORAGE_FETCHED = counter(
    "apiserver_storage_list_fetched_objects_total", "Objects that etcd returned for lists.", *_OF_LISTS, of=_OF_RESOURCE
)
STORAGE_EVALUATED = counter(
    "apiserver_storage_list_evaluated_objects_total",
    "Objects from etcd that were compared with selectors.",
    *_OF_LISTS,
    of=_OF_RESOURCE,
)
STORAGE_RETURNED = counter(
    "apiserver_storage_list_returned_objects_total",
    "Objects of those that the client was sent.",
    *_OF_LISTS,
    of=_OF_RESOURCE,
)
CACHE_LISTS = counter(
    "apiserver_cache_list_total",
    "Lists of the watch cache, by the index that was used.",
    *_OF_LISTS,
    "index",
    of=_OF_RESOURCE,
)
CACHE_FETCHED = counter(
    "apiserver_cache_list_fetched_objects_total",
    "Objects that lists of the watch cache read.",
    *_OF_LISTS,
    "index",
    of=_OF_RESOURCE,
)
CACHE_RETURNED = counter(
    "apiserver_cache_list_returned_objects_total",
    "Objects of those that the client was sent.",
    *_OF_LISTS,
    of=_OF_RESOURCE,
)
TAKEN.reads(lambda: {labels: child.value for labels, child in RECEIVED.children()})
DISPATCHED.reads(lambda: {labels: child.value for labels, child in RECEIVED.children()})


def listed(group_resource: tuple[str, str], index: str, fetched: int, returned: int) -> None:
    """Counts a list of the watch cache."""
    CACHE_LISTS.labels(*group_resource, index).value += 1
    CACHE_FETCHED.labels(*group_resource, index).value += fetched
    CACHE_RETURNED.labels(*group_resource).value += returned


def listed_by_etcd(group_resource: tuple[str, str], fetched: int, returned: int) -> None:
    """Counts a list from etcd."""
    STORAGE_LISTS.labels(*group_resource).value += 1
    STORAGE_FETCHED.labels(*group_resource).value += fetched
    STORAGE_EVALUATED.labels(*group_resource).value += fetched
    STORAGE_RETURNED.labels(*group_resource).value += returned


_SPANS = {
    "get": "Get etcd3",
    "list": "List(recursive=true) etcd3",
    "create": "Create etcd3",
    "update": "GuaranteedUpdate etcd3",
    "delete": "Delete etcd3",
}  # by operation, as kube-apiserver's traces have them


async def measured(operation: str, group_resource: tuple[str, str], call: Awaitable[R]) -> R:
    """The result of a call of etcd; the call is counted by its operation and resource.

    The time is also added to the `Times` of the request that waits for it.
    """
    times, began = current.get(), monotonic()
    try:
        if times is None or times.trace is None:
            return await call
        with times.trace.span(_SPANS[operation], {"type": group_resource[1]}):
            return await call
    except StorageError:
        ERRORS.labels(operation, *group_resource).inc()
        raise
    finally:
        ended = monotonic()
        DURATION.labels(operation, *group_resource).observe(ended - began)
        if times is not None:
            times.took("etcd", began, ended)
