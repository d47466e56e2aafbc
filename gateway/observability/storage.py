"""Metrics of the watch cache and of etcd, under kube-apiserver's names, computed at each scrape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from gateway.requests.parts import Gateway
from storage.cache import ResourceCache
from storage.instruments import STABLE, counter, gauge
from storage.instruments.families import Labels

OBJECTS = gauge("apiserver_storage_objects", "Stored objects of a resource.", "resource", level=STABLE, across="max")
RESOURCE_OBJECTS = gauge(
    "apiserver_resource_objects", "Stored objects of a resource.", "group", "resource", across="max"
)
SIZES = gauge(
    "apiserver_resource_size_estimate_bytes", "Bytes of the objects of a resource.", "group", "resource", across="max"
)
VERSION = gauge(
    "apiserver_watch_cache_resource_version",
    "The revision up to which the watch cache has seen every change.",
    "group",
    "resource",
    across="max",
)
HISTORY = gauge(
    "watch_cache_capacity", "Capacity of a resource's history of changes.", "group", "resource", across="max"
)
UNOWNED = gauge("apiserver_unowned_bytes", "Bytes kept in memory for resources that are not registered.", across="max")
CHECKS = counter(
    "apiserver_storage_consistency_checks_total",
    "Comparisons of the watch cache with etcd, by result.",
    "group",
    "resource",
    "status",
)


def follow(gateway: Gateway) -> None:
    """Makes the families report the content of this gateway's caches."""

    def read(value_of: Callable[[ResourceCache], float]) -> Callable[[], Mapping[Labels, float]]:
        return lambda: {
            (served.group, served.resource): value_of(cache) for served, cache in gateway.endpoints.caches.every()
        }

    OBJECTS.reads(lambda: {(_named(*labels),): number for labels, number in read(len)().items()})
    RESOURCE_OBJECTS.reads(read(len))
    SIZES.reads(read(_bytes))
    VERSION.reads(lambda: _versions(gateway))
    HISTORY.reads(read(lambda cache: cache.history.end - cache.history.first))
    UNOWNED.reads(lambda: {(): sum(each.cache.unowned.size for each in gateway.services.databases)})
    CHECKS.reads(lambda: _checks(gateway))


def _bytes(cache: ResourceCache) -> int:
    """An estimate of the bytes of all objects of a resource, from the sizes of three of them."""
    count = len(cache)
    some = [cache.slice(index, index + 1)[0] for index in (0, count // 2, count - 1)] if count else []
    return sum(entry.size for entry in some) * count // max(len(some), 1)


def _named(group: str, resource: str) -> str:
    return f"{resource}.{group}" if group else resource


def _versions(gateway: Gateway) -> Mapping[Labels, float]:
    apart, main = gateway.services.apart, gateway.services.database
    return {
        (served.group, served.resource): apart.get(served.storage_prefix, main).cache.reached
        for served, _ in gateway.endpoints.caches.every()
    }


def _checks(gateway: Gateway) -> Mapping[Labels, float]:
    counts = sum((each.checker.counts for each in gateway.services.databases), Counter[tuple[bytes, str]]())
    return {
        (served.group, served.resource, status): count
        for served, cache in gateway.endpoints.caches.every()
        for status in ("success", "failure", "error")
        if (count := counts[cache.spec.prefix, status])
    }
