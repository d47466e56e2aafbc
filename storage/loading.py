"""Loading the whole registry by pages at one revision, into an empty cache or as the difference to a known state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from operator import itemgetter

from storage.cache import ResourceCache
from storage.etcd import PUT, EtcdClient, Event, KeyValue
from storage.keys import prefix_end
from storage.lineage import Rewound
from storage.unowned import Values
from storage.watch_cache import WatchCache

LOAD_PAGE = 500

Loaded = dict[bytes, tuple[bytes, int]]  # key -> value, mod revision


Keep = Callable[[bytes, bytes, int], bytes]  # key, value, mod revision -> what is kept of the value


async def load(
    client: EtcdClient, root: bytes, kept: Keep = lambda _key, value, _revision: value
) -> tuple[Loaded, int]:
    """All that is under the root, and the revision as of which. Raises StorageError."""
    loaded: Loaded = {}
    revision = 0
    async for at, kvs in _pages(client, root):
        revision = at
        for kv in kvs:
            loaded[kv.key] = (kept(kv.key, kv.value, kv.mod_revision), kv.mod_revision)
    return loaded, revision


async def _pages(client: EtcdClient, root: bytes) -> AsyncIterator[tuple[int, list[KeyValue]]]:
    key, revision = root, 0
    end = prefix_end(key)
    while True:
        answer = await client.range(key, end, limit=LOAD_PAGE, revision=revision)
        revision = revision or answer.revision
        yield revision, answer.kvs
        if not answer.more:
            return
        key = answer.kvs[-1].key + b"\0"


def values_of(cache: WatchCache) -> Values | None:
    """All that is under the root as of the revision reached, by key; None when the cache does not have all of it."""
    values = cache.unowned.values()
    if values is not None:
        for resource in cache:
            for entry in resource.slice(0, len(resource)):
                values[entry.key] = entry, entry.revision
    return values


def take_over(cache: WatchCache, loaded: Loaded) -> None:
    """Fills an empty cache."""
    by_resource: dict[int, tuple[ResourceCache, list[tuple[bytes, bytes, int]]]] = {}
    for key, (value, revision) in loaded.items():
        resource = cache.of_key(key)
        if resource is None:
            cache.unowned.put(key, value, revision)
        else:
            by_resource.setdefault(id(resource), (resource, []))[1].append((key, value, revision))
    for resource, items in by_resource.values():
        resource.load(items)


def apply_difference(cache: WatchCache, loaded: Loaded, revision: int) -> None:
    """Emits, in order, the changes that lead from what the cache has to what was loaded.

    All at once: until the revision is reached nobody may see any of it. Raises Rewound, with nothing changed, where
    what was loaded is not what the cache had seen by then.
    """
    changed = _changed(cache, loaded)
    for key, (value, mod) in loaded.items():
        if cache.of_key(key) is None:
            cache.unowned.put(key, value, mod)
    for mod, key, resource in changed:
        resource.put(key, loaded[key][0], mod)
    for resource in cache:
        for key in resource.all_keys():
            if key not in loaded:
                resource.remove(key, revision)


def _changed(cache: WatchCache, loaded: Loaded) -> list[tuple[int, bytes, ResourceCache]]:
    reached, changed = cache.reached, []
    for key, (_, mod) in loaded.items():
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


def newest(loaded: Loaded) -> Event | None:
    """The last of the writes that led to what was loaded."""
    key = max(loaded, key=lambda key: loaded[key][1], default=None)
    return None if key is None else Event(PUT, KeyValue(key, *loaded[key], 0, 0), None)
