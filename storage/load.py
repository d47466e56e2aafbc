"""Loads the whole registry by pages at one revision, into an empty cache or as the difference to the cache's state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from operator import itemgetter

from storage.cache import ResourceCache
from storage.etcd import PUT, EtcdClient, KeyEvent, KeyValue
from storage.lineage import Rewound
from storage.pages import pages
from storage.time_slice import TimeSlice
from storage.unowned_objects import Value, Values, raw_of
from storage.watch_cache import WatchCache

Keep = Callable[[bytes, bytes, int], Value]  # key, value, mod revision -> the form in which the load keeps the value


Told = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Loaded:
    """All objects under the root as of a revision, and the put with the highest mod revision among them."""

    values: Values
    revision: int
    last: KeyEvent | None


Read = Callable[[EtcdClient, bytes, Keep, Told], Awaitable[Loaded]]
"""Reads all objects under a root that the caches need, as `load` does."""


async def load(
    client: EtcdClient,
    root: bytes,
    kept: Keep = lambda _key, value, _revision: value,
    told: Told = lambda _: None,
    at: int = 0,
) -> Loaded:
    """Loads all objects under the root, as of the revision `at` or (0) the present one. After each page `told` gets the
    number so far. Raises StorageError.
    """
    values: Values = {}
    revision, last, piece = at, None, TimeSlice()
    async for found_at, kvs in pages(client, root, at):
        revision = found_at
        for kv in kvs:
            values[kv.key] = kept(kv.key, kv.value, kv.mod_revision), kv.mod_revision
            if last is None or kv.mod_revision > last.mod_revision:
                last = kv
            if piece.over():
                await piece.next()
        told(len(values))
    return Loaded(values, revision, last and KeyEvent(PUT, last, None))


def values_of(cache: WatchCache) -> Values | None:
    """All objects under the root as of the revision reached, by key; None if the cache does not have all of them."""
    values = cache.unowned.values()
    if values is not None:
        for resource in cache:
            for entry in resource.slice(0, len(resource)):
                values[entry.key] = entry, entry.revision
    return values


def take_over(cache: WatchCache, values: Values) -> None:
    """Fills an empty cache. It empties `values` meanwhile, to save memory."""
    by_resource: dict[int, tuple[ResourceCache, list[tuple[bytes, Value, int]]]] = {}
    while values:
        key, (value, revision) = values.popitem()
        resource = cache.of_key(key)
        if resource is None:
            cache.unowned.put(key, value, revision)
        else:
            by_resource.setdefault(id(resource), (resource, []))[1].append((key, value, revision))
    for resource, items in by_resource.values():
        resource.load(items)


def apply_difference(cache: WatchCache, loaded: Loaded) -> None:
    """Applies, in order, the changes from the cache's state to the loaded one, whose values must not be entries.

    It does not await, so that no reader sees a part of the changes before the revision is reached. Raises Rewound if a
    loaded value is not newer than the cache and differs from it; the cache is then unchanged.
    """
    changed = _changed(cache, loaded.values)
    for key, (value, mod) in loaded.values.items():
        if cache.of_key(key) is None:
            cache.unowned.put(key, value, mod)
    for mod, key, resource in changed:
        resource.put(key, raw_of(loaded.values[key][0]), mod)
    for resource in cache:
        for key in resource.all_keys():
            if key not in loaded.values:
                resource.remove(key, loaded.revision)


def _changed(cache: WatchCache, values: Values) -> list[tuple[int, bytes, ResourceCache]]:
    reached, changed = cache.reached, []
    for key, (_, mod) in values.items():
        resource = cache.of_key(key)
        if resource is None:
            continue
        if mod > reached:
            changed.append((mod, key, resource))
            continue
        entry = resource.get(key)
        if entry is None or entry.revision != mod:
            raise Rewound(f"revision {mod} was never seen")
    changed.sort(key=itemgetter(0, 1))
    return changed


def newest(values: Values) -> KeyEvent | None:
    """The put with the highest mod revision among these values, which must not be entries; None if there are none."""
    key = max(values, key=lambda key: values[key][1], default=None)
    return None if key is None else KeyEvent(PUT, KeyValue(key, raw_of(values[key][0]), values[key][1], 0, 0), None)
