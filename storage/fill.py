"""A start with very many objects, in parts: resources that all requests depend on, such as RBAC rules, come first.

The caches of the other resources are set aside (`WatchCache.unfilled`), then filled one after the other, those with few
objects first. Each is loaded at the revision that the watch cache has reached. Changes that come during the load are
kept for it, as for a resource that is registered while the feed runs. Nothing may read a cache before it is filled:
`DirectReads` reads from etcd instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from time import monotonic

from storage.adoption import catch_up
from storage.cache import ResourceCache
from storage.entry import Entry
from storage.errors import Compacted, StorageError
from storage.etcd import PUT, EtcdClient, KeyEvent
from storage.keys import prefix_end
from storage.load import Loaded
from storage.metrics import filled
from storage.pages import pages
from storage.reads import FUTURE_WAIT, Match, Page, Reads, TooLargeRevision
from storage.time_slice import TimeSlice
from storage.unowned_objects import Taking, Values
from storage.waiters import Interest
from storage.watch_cache import WatchCache

log = logging.getLogger(__name__)

RETRY = 0.1  # seconds
COUNTED_AT_ONCE = 8  # resources


class DirectReads(Reads):
    """Reads of a resource whose cache is unfilled: etcd answers all of them."""

    def __init__(self, reads: Reads) -> None:
        self._client, self._cache, self._consistent = reads._client, reads._cache, reads._consistent

    async def fresh(self) -> bool:
        return False

    async def get(self, resource: ResourceCache, key: bytes) -> Entry | None:
        return await self.get_direct(resource, key)

    async def not_older_than(self, revision: int) -> bool:
        probe = self._consistent.probe
        if await probe() < revision and not await self._consistent.wait_for(revision, FUTURE_WAIT):
            raise TooLargeRevision(revision, await probe())
        return False

    async def page(
        self,
        resource: ResourceCache,
        prefix: bytes,
        start: bytes,
        limit: int,
        match: Match | None,
        interest: Interest | None = None,
    ) -> Page:
        return await self.page_direct(resource, prefix, start, limit, match)

    async def page_at(
        self, resource: ResourceCache, prefix: bytes, start: bytes, limit: int, match: Match | None, revision: int
    ) -> Page:
        return await self.page_direct(resource, prefix, start, limit, match, revision)


async def load_first(client: EtcdClient, prefixes: Iterable[bytes]) -> Loaded:
    """Loads all objects under some prefixes, as of one revision. Raises StorageError."""
    values: Values = {}
    revision, last = 0, None
    for prefix in prefixes:
        async for at, kvs in pages(client, prefix, revision):
            revision = at
            for kv in kvs:
                values[kv.key] = kv.value, kv.mod_revision
                if last is None or kv.mod_revision > last.mod_revision:
                    last = kv
    return Loaded(values, revision, last and KeyEvent(PUT, last, None))


async def fill(client: EtcdClient, cache: WatchCache, told: Callable[[int], object] = lambda _: None) -> None:
    """Fills all caches that are set aside, also those that are set aside meanwhile. `told` gets the number of objects
    loaded so far, after each page.
    """
    loaded = 0

    def so_far(objects: int) -> None:
        told(loaded + objects)

    while cache.unfilled:
        for resource in await _by_size(client, list(cache.unfilled.values())):
            while not await _is_filled(client, cache, resource, so_far):
                await asyncio.sleep(RETRY)
            loaded += len(resource)


async def _by_size(client: EtcdClient, resources: list[ResourceCache]) -> list[ResourceCache]:
    """The resources, those with few objects first; in the given order if etcd fails to count them."""
    sizes: dict[ResourceCache, int] = {}
    try:
        for start in range(0, len(resources), COUNTED_AT_ONCE):
            part = resources[start : start + COUNTED_AT_ONCE]
            heads = (client.head(each.spec.prefix, prefix_end(each.spec.prefix)) for each in part)
            sizes |= zip(part, [head.count for head in await asyncio.gather(*heads)], strict=True)
    except StorageError:
        return resources
    return sorted(resources, key=lambda each: sizes[each])


async def _is_filled(
    client: EtcdClient, cache: WatchCache, resource: ResourceCache, told: Callable[[int], object]
) -> bool:
    """Fills a cache; False if it has to be tried again."""
    if not cache.reached:  # everything is being loaded anew
        return False
    began, taking = monotonic(), cache.unowned.take(resource.spec.prefix)
    try:
        entries = await _loaded(client, resource, cache.reached, told)
    except StorageError as error:
        level = logging.DEBUG if isinstance(error, Compacted) else logging.WARNING
        log.log(level, "objects could not be loaded, trying again: %s", error)
        return False
    else:
        if taking.void:  # everything was loaded anew meanwhile
            return False
        _put(cache, resource, taking, entries)
        filled(resource.spec.group_resource, began)
        return True
    finally:
        cache.unowned.give_back(taking)


def _put(cache: WatchCache, resource: ResourceCache, taking: Taking, entries: dict[bytes, Entry]) -> None:
    """Puts the loaded entries and the changes since into a cache, all in this turn of the event loop."""
    catch_up(taking, resource, entries)
    cache.unowned.finish(taking)
    resource.start_over()  # followers have to notice, even if the revision is the same
    resource.take(entries)
    cache.add(resource)
    resource.tell(None)
    resource.wake_all()


async def _loaded(
    client: EtcdClient, resource: ResourceCache, revision: int, told: Callable[[int], object]
) -> dict[bytes, Entry]:
    entries: dict[bytes, Entry] = {}
    piece = TimeSlice()
    async for _, kvs in pages(client, resource.spec.prefix, revision):
        for kv in kvs:
            entries[kv.key] = resource.entry(kv.key, kv.value, kv.mod_revision)
            if piece.over():
                await piece.next()
        told(len(entries))
    return entries
