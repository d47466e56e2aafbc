"""The metrics of etcd calls and of the watch cache, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import TypeVar

from storage.errors import StorageError
from storage.instruments import BETA, Counters, by, counter, histogram
from storage.instruments.families import Histogram, Labels
from storage.instruments.trace import current

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
)
CONSISTENT = counter(
    "apiserver_watch_cache_consistent_read_total",
    "Lists that had to be consistent, by whether the watch cache could answer, or etcd had to.",
    "group",
    "resource",
    "success",
    "fallback",
    of=_OF_RESOURCE,
)
REQUESTS.reads(lambda: {labels: sum(child.counts) for labels, child in DURATION.children()})
DISPATCHED = counter(
    "apiserver_watch_cache_events_dispatched_total", "Changes that were sent to watches.", "group", "resource"
)
_OF_LISTS = ("group", "resource", "storage")
STORAGE_LISTS = counter(
    "apiserver_storage_list_total",
    "Lists that were read, by where (etcd or watchcache) and by the index that was used.",
    *_OF_LISTS,
    "index",
    of=_OF_RESOURCE,
)
STORAGE_FETCHED = counter(
    "apiserver_storage_list_fetched_objects_total",
    "Objects that lists read.",
    *_OF_LISTS,
    "index",
    of=_OF_RESOURCE,
)
STORAGE_EVALUATED = counter(
    "apiserver_storage_list_evaluated_objects_total",
    "Objects from etcd that were compared with selectors.",
    *_OF_LISTS,
)
STORAGE_RETURNED = counter(
    "apiserver_storage_list_returned_objects_total",
    "Objects of those that the client was sent.",
    *_OF_LISTS,
    of=_OF_RESOURCE,
)
STORAGE_TIME = histogram(
    "apiserver_storage_list_duration_seconds",
    "Time that a list from etcd took.",
    "streamed",
    "group",
    "resource",
    buckets=DURATION.bounds,
    of=_OF_RESOURCE,
)
CACHE_LISTS = counter(
    "apiserver_cache_list_total", "Lists of the watch cache, by the index that was used.", "group", "resource", "index"
)
CACHE_FETCHED = counter(
    "apiserver_cache_list_fetched_objects_total",
    "Objects that lists of the watch cache read.",
    "group",
    "resource",
    "index",
)
CACHE_RETURNED = counter(
    "apiserver_cache_list_returned_objects_total", "Objects of those that the client was sent.", "group", "resource"
)
FILLED = histogram(
    "apiserver_watch_cache_initialization_duration_seconds",
    "Time until the watch cache of a resource was filled.",
    "group",
    "resource",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600),
    of=_OF_RESOURCE,
)
DISPATCH = histogram(
    "apiserver_watch_events_dispatch_duration_seconds",
    "Time from a change of etcd to the watch cache, from there to a watch, and in total.",
    "group",
    "resource",
    "stage",
    buckets=(0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
    of=_OF_RESOURCE,
)
_CACHE, _ETCD = "watchcache", "etcd"
TAKEN.reads(lambda: {labels: child.value for labels, child in RECEIVED.children()})
DISPATCHED.reads(lambda: {labels: child.value for labels, child in RECEIVED.children()})


def _of_cache(family: Counters) -> Callable[[], Mapping[Labels, float]]:
    """The counts of lists of the watch cache, without the label `storage`."""
    return lambda: {
        (*labels[:2], *labels[3:]): child.value for labels, child in family.children() if labels[2] == _CACHE
    }


CACHE_LISTS.reads(_of_cache(STORAGE_LISTS))
CACHE_FETCHED.reads(_of_cache(STORAGE_FETCHED))
CACHE_RETURNED.reads(_of_cache(STORAGE_RETURNED))


def _evaluated() -> Mapping[Labels, float]:
    """etcd's objects are all compared; the cache counts none, as in kube-apiserver."""
    found: Mapping[Labels, float] = {labels: 0.0 for labels, _ in STORAGE_RETURNED.children()}
    etcd = {labels[:3]: child.value for labels, child in STORAGE_FETCHED.children() if labels[2] == _ETCD}
    return {**found, **etcd}


STORAGE_EVALUATED.reads(_evaluated)


BEGUN.reads(lambda: {labels: sum(child.counts) for labels, child in FILLED.children()})


def filled(group_resource: tuple[str, str], began: float) -> None:
    """Counts that the watch cache of a resource was filled; `began` is by the monotonic clock."""
    FILLED.labels(*group_resource).observe(monotonic() - began)


def listed(group_resource: tuple[str, str], index: str, fetched: int, returned: int) -> None:
    """Counts a list of the watch cache."""
    STORAGE_LISTS.labels(*group_resource, _CACHE, index).value += 1
    STORAGE_FETCHED.labels(*group_resource, _CACHE, index).value += fetched
    STORAGE_RETURNED.labels(*group_resource, _CACHE).value += returned


def consistent(group_resource: tuple[str, str], cached: bool) -> None:
    """Counts a list that had to be consistent; `cached`: the watch cache was as new as etcd."""
    CONSISTENT.labels(*group_resource, "true" if cached else "false", "false" if cached else "true").value += 1


def listed_by_etcd(group_resource: tuple[str, str], fetched: int, returned: int) -> None:
    """Counts a list from etcd."""
    STORAGE_LISTS.labels(*group_resource, _ETCD, "").value += 1
    STORAGE_FETCHED.labels(*group_resource, _ETCD, "").value += fetched
    STORAGE_RETURNED.labels(*group_resource, _ETCD).value += returned


@contextmanager
def timed_list(group_resource: tuple[str, str]) -> Iterator[None]:
    """Counts the time of the block, which lists a resource from etcd by pages."""
    began = monotonic()
    try:
        yield
    finally:
        STORAGE_TIME.labels("false", *group_resource).observe(monotonic() - began)


class Dispatch:
    """The times of a resource's changes on their way to watches, by the stages of kube-apiserver's pipeline."""

    __slots__ = ("_cached", "_of", "_received", "_stages")

    def __init__(self, group_resource: tuple[str, str]) -> None:
        self._of, self._received, self._cached = group_resource, 0.0, 0.0
        self._stages: tuple[Histogram, ...] = ()  # made for the first change: most resources have few

    def cached(self, received: float) -> None:
        """Notes that the cache has changes that came from etcd at a time, by the monotonic clock."""
        if not self._stages:
            stages = ("storage_to_cache", "cache_to_watcher", "total")
            self._stages = tuple(DISPATCH.labels(*self._of, stage) for stage in stages)
        self._received, self._cached = received, monotonic()
        self._stages[0].observe(self._cached - received)

    def sent(self, watches: int, now: float) -> None:
        """Counts watches that have been given the latest changes by now."""
        if self._stages:
            self._stages[1].observe_many(now - self._cached, watches)
            self._stages[2].observe_many(now - self._received, watches)


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
