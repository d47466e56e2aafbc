"""Writing objects: every write is one etcd transaction that compares the mod revision.

A write returns only after etcd has committed it; its revision is the object's new resourceVersion. When the outcome is
unknown (Unavailable, DeadlineExceeded) nothing is assumed. Values are canonical JSON without a resourceVersion.
"""

from __future__ import annotations

from collections.abc import Callable

from storage.cache import ResourceCache, WatchCache
from storage.entry import Entry
from storage.errors import Conflict, KeyExists, StoredObject
from storage.etcd import DELETE, PUT, EtcdClient, Event, KeyValue
from storage.reads import Reads


class Store:
    """Create, read, update and delete by key. Keys are whole etcd keys."""

    def __init__(
        self, client: EtcdClient, cache: WatchCache, reads: Reads, acknowledged: Callable[[Event], None]
    ) -> None:
        """`acknowledged` is told of every write that etcd has acknowledged, before its writer is."""
        self.client, self.cache, self.reads = client, cache, reads
        self._acknowledged = acknowledged

    def cached(self, key: bytes) -> StoredObject | None:
        """The version that the watch cache has, which may be stale; None if it has none."""
        resource = self.cache.of_key(key)
        entry = None if resource is None else resource.get(key)
        return None if entry is None or resource is None else _stored(entry, resource)

    async def get(self, key: bytes) -> StoredObject | None:
        """The most recent version, read from etcd itself; None if there is none. Raises Unavailable."""
        found = await self.client.range(key)
        if not found.kvs:
            return None
        return self._canonical(StoredObject(key, found.kvs[0].value, found.kvs[0].mod_revision))

    async def latest(self, key: bytes) -> StoredObject | None:
        """The most recent version, out of the cache where that can be brought up to date. Raises Unavailable."""
        resource = self.cache.of_key(key)
        if resource is None or not await self.reads.fresh():
            return await self.get(key)
        entry = resource.get(key)
        return None if entry is None else _stored(entry, resource)

    async def create(self, key: bytes, value: bytes, lease: int = 0) -> int:
        """Puts a new key; returns its revision. Raises KeyExists with what is there, Unavailable, TooLarge, NoSpace."""
        answer = await self.client.create(key, value, lease=lease)
        if answer.succeeded:
            return self._written(PUT, key, value, answer.revision)
        assert answer.current is not None  # the comparison failed because the key is there
        raise KeyExists(self._canonical(StoredObject(key, answer.current.value, answer.current.mod_revision)))

    async def update(self, key: bytes, value: bytes, expected: int, lease: int = 0) -> int:
        """Replaces the version `expected`; returns the new revision. Raises Conflict with the present version."""
        answer = await self.client.update(key, value, expected, lease=lease)
        if answer.succeeded:
            return self._written(PUT, key, value, answer.revision)
        raise Conflict(self._current(key, answer.current))

    async def delete(self, key: bytes, expected: int) -> int:
        """Deletes the version `expected`; returns the deletion's revision. Raises Conflict with the present version."""
        answer = await self.client.delete_if(key, expected)
        if answer.succeeded:
            return self._written(DELETE, key, b"", answer.revision)
        raise Conflict(self._current(key, answer.current))

    async def list(self, prefix: bytes) -> list[StoredObject]:
        """All present objects under a prefix, most recent, in key order. Raises Unavailable."""
        resource = self.cache.of_key(prefix + b"x")
        if resource is not None and await self.reads.fresh():
            return [_stored(entry, resource) for entry in resource.slice(*resource.bounds(prefix))]
        found = await self.client.range(prefix, prefix[:-1] + bytes([prefix[-1] + 1]))
        return [self._canonical(StoredObject(kv.key, kv.value, kv.mod_revision)) for kv in found.kvs]

    def _written(self, change: int, key: bytes, value: bytes, revision: int) -> int:
        self._acknowledged(Event(change, KeyValue(key, value, revision, 0, 0), None))
        return revision

    def _current(self, key: bytes, kv: KeyValue | None) -> StoredObject | None:
        return None if kv is None else self._canonical(StoredObject(key, kv.value, kv.mod_revision))

    def _canonical(self, stored: StoredObject) -> StoredObject:
        resource = self.cache.of_key(stored.key)
        if resource is None:
            return stored
        return StoredObject(stored.key, resource.canonical_value(stored.key, stored.value), stored.revision)


def _stored(entry: Entry, resource: ResourceCache) -> StoredObject:
    return StoredObject(entry.key, entry.value(resource.spec.head), entry.revision)
