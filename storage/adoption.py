"""Registers and unregisters resources while the feed runs, such as those of CustomResourceDefinitions.

The cache of a new resource is filled with the values that `unowned` has kept for it, or else from etcd."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from time import monotonic

from storage.cache import ResourceCache
from storage.entry import Entry, ResourceSpec
from storage.errors import Compacted, Unavailable
from storage.etcd import EtcdClient
from storage.history import Overrun
from storage.metrics import filled
from storage.pages import pages
from storage.time_slice import TimeSlice
from storage.unowned_objects import Taking, Values, raw_of
from storage.watch_cache import WatchCache

ATTEMPTS = 20
RETRY = 0.1  # seconds


async def register(cache: WatchCache, client: EtcdClient, spec: ResourceSpec) -> ResourceCache:
    """Adds the cache of a resource. The cache has all objects of the revision that the other caches have reached.

    Its history starts at this revision. The objects come from etcd if `unowned` had to drop them.
    Raises Unavailable, and is safe to cancel.
    """
    began = monotonic()
    async with cache.adopting:
        for _ in range(ATTEMPTS):
            if not cache.reached or cache.has(spec.prefix):
                return cache.register(spec)
            taking = cache.unowned.take(spec.prefix)
            try:
                values = taking.values
                if values is None:
                    values = await _loaded(client, spec.prefix, cache.reached)
                resource = await _adopt(cache, spec, taking, values)
            except Compacted:  # the feed will get the same error, and load everything
                resource = None
                await asyncio.sleep(RETRY)
            finally:
                cache.unowned.give_back(taking)
            if resource is not None:
                filled(spec.group_resource, began)
                return resource
    raise Unavailable("the objects could not be loaded: etcd compacts revisions faster than they are read")


def unregister(cache: WatchCache, resource: ResourceCache) -> None:
    """Removes a resource's cache; its watches are overrun. `unowned` keeps the values for the next resource there."""
    entries = resource.slice(0, len(resource))
    cache.remove(resource)
    for entry in entries:
        cache.unowned.put(entry.key, entry, entry.revision)


async def renew(
    cache: WatchCache,
    client: EtcdClient,
    old: ResourceCache,
    spec: ResourceSpec,
    change: Callable[[ResourceCache], None],
) -> ResourceCache:
    """Replaces a cache by a new one that reads the objects of etcd by another `spec`, such as after a CRD changed.

    `change` is called in the turn of the event loop in which the new cache replaces the old one. The old cache still
    gets changes, read by its own spec, until `end_former` of the new one. Raises Unavailable, and is safe to cancel.
    """
    began = monotonic()
    async with cache.adopting:
        for _ in range(ATTEMPTS):
            resource, generation, position = ResourceCache(spec), old.generation, old.history.end
            try:
                entries = await _reread(cache, client, old, resource)
                while old.generation == generation and position < (end := old.history.end):
                    changed = {each.entry.key for each in old.history.between(position, end)}
                    position = end
                    await _read_again(client, changed, cache.reached, resource, entries)
            except (Compacted, Overrun):
                await asyncio.sleep(RETRY)
                continue
            if old.generation == generation:
                resource.take(entries)
                filled(spec.group_resource, began)
                resource.succeed(old)
                change(cache.add(resource))
                return resource
    raise Unavailable("the objects could not be loaded: etcd compacts revisions faster than they are read")


async def _reread(
    cache: WatchCache, client: EtcdClient, old: ResourceCache, resource: ResourceCache
) -> dict[bytes, Entry]:
    entries: dict[bytes, Entry] = {}
    if not len(old):
        return entries
    piece = TimeSlice()
    for key, (value, revision) in (await _loaded(client, resource.spec.prefix, cache.reached)).items():
        entries[key] = resource.entry(key, raw_of(value), revision)
        if piece.over():
            await piece.next()
    return entries


async def _read_again(
    client: EtcdClient, keys: Iterable[bytes], revision: int, resource: ResourceCache, entries: dict[bytes, Entry]
) -> None:
    for key in keys:
        found = await client.range(key, revision=revision)
        if found.kvs:
            entries[key] = resource.entry(key, found.kvs[0].value, found.kvs[0].mod_revision)
        else:
            entries.pop(key, None)


async def _loaded(client: EtcdClient, prefix: bytes, revision: int) -> Values:
    values: Values = {}
    async for _, kvs in pages(client, prefix, revision):
        values.update((kv.key, (kv.value, kv.mod_revision)) for kv in kvs)
    return values


async def _adopt(cache: WatchCache, spec: ResourceSpec, taking: Taking, values: Values) -> ResourceCache | None:
    """Registers a cache with some values and the changes since; None if everything was loaded anew meanwhile."""
    resource = ResourceCache(spec)
    entries: dict[bytes, Entry] = {}
    piece = TimeSlice()
    for key, (value, revision) in values.items():
        entries[key] = resource.entry(key, raw_of(value), revision)
        if piece.over():
            await piece.next()
    if taking.void:
        return None
    catch_up(taking, resource, entries)
    cache.unowned.finish(taking)
    resource.take(entries)
    cache.add(resource)
    return resource


def catch_up(taking: Taking, resource: ResourceCache, entries: dict[bytes, Entry]) -> None:
    """Applies the changes since the taking began to `entries`, so that they are as new as the watch cache."""
    for key, change in taking.changes.items():
        if change is None:
            entries.pop(key, None)
        else:
            entries[key] = resource.entry(key, raw_of(change[0]), change[1])
