"""Writing objects: every write is one etcd transaction that compares the mod revision.

A write returns only after etcd has committed it. When the outcome is unknown it raises Unanswered. It waits for etcd's
answer as long as kube-apiserver does: giving up earlier would leave more outcomes unknown, and no other request waits
for it. storage/protocol.py is its interface. A process that has several etcds, each of which keeps other resources, has
a store of each (`Stores`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from storage.entry import Entry
from storage.errors import BesideChanged, Conflict, KeyExists, NotLoaded, StoredObject
from storage.etcd import DELETE, PUT, EtcdClient, Event, KeyValue
from storage.etcd.kv import Beside, Guard
from storage.etcd.results import SwapResult
from storage.etcd.transforming import StaleValue
from storage.fence import Fence, Outpost
from storage.keys import prefix_end
from storage.measures import measured
from storage.protocol import Swap
from storage.reads import Reads
from storage.watch_cache import WatchCache

OUTPOST = b"gateway/leader"  # the key, below the root, that stands for a fence in another etcd
ANSWER = 60.0  # seconds for etcd's answer to a write; kube-apiserver's --request-timeout


class EtcdStore:
    """A `Store` (storage/protocol.py) on etcd and the watch cache."""

    def __init__(
        self,
        client: EtcdClient,
        cache: WatchCache,
        reads: Reads,
        acknowledged: Callable[..., None],
        fence: Fence | None = None,
        outpost: Outpost | None = None,
    ) -> None:
        """`acknowledged` is told the events of every write that etcd has acknowledged, before its writer is.

        With a `fence` writes are made only while that is held, and raise Fenced afterwards. Where its key is in another
        etcd, an `outpost` stands for it.
        """
        self.client, self.cache, self.reads = client, cache, reads
        self._acknowledged, self._fence, self._outpost = acknowledged, fence, outpost

    def fenced(self, fence: Fence, holder: EtcdClient | None = None) -> EtcdStore:
        """A store that writes only while a fence is held, whose key is in the etcd of `holder` (or in this one)."""
        outpost = None if holder is None else Outpost(self.cache.root + OUTPOST, self.client, fence, holder)
        return EtcdStore(self.client, self.cache, self.reads, self._acknowledged, fence, outpost)

    async def occupy(self) -> None:
        """Has nobody write here any more who held the fence before. Raises Fenced, Unavailable."""
        if self._outpost is not None:
            await self._outpost.guard()

    def reading(self, reads: Reads) -> EtcdStore:
        """The same store, whose requests read in another way."""
        return EtcdStore(self.client, self.cache, reads, self._acknowledged, self._fence, self._outpost)

    def cached(self, key: bytes) -> StoredObject | None:
        entry = self.cached_entry(key)
        return None if entry is None else entry.stored()

    def cached_entry(self, key: bytes) -> Entry | None:
        resource = self.cache.of_key(key)
        if resource is None:
            self._require_loaded(key)
            return None
        return resource.get(key)

    def cached_entries(self, prefix: bytes) -> list[Entry]:
        resource = self.cache.of_key(prefix + b"x")
        if not resource:  # of many there are none at all
            self._require_loaded(prefix)
            return []
        return resource.slice(*resource.bounds(prefix))

    def _require_loaded(self, key: bytes) -> None:
        """Raises NotLoaded for a key of a resource whose objects are yet to be loaded."""
        if self.cache.unfilled_of(key) is not None:
            raise NotLoaded("the objects are yet to be loaded")

    async def get(self, key: bytes) -> StoredObject | None:
        found = await measured("get", self._named(key), self.client.range(key))
        return self._readable(found.kvs[0]) if found.kvs else None

    async def latest(self, key: bytes) -> StoredObject | None:
        resource = self.cache.of_key(key)
        if resource is None or not await self.reads.fresh():
            return await self.get(key)
        entry = resource.get(key)
        return None if entry is None else entry.stored()

    async def create(self, key: bytes, value: bytes, lease: int = 0, beside: Sequence[Swap] = ()) -> int:
        others = _others(beside) if beside else ()
        answer = await self._swap(
            "create",
            key,
            lambda guard: self.client.create(key, value, lease=lease, guard=guard, beside=others, timeout=ANSWER),
        )
        if answer.succeeded:
            self._written(PUT, key, value, answer.revision, beside)
            return answer.revision if self.cache.reached >= answer.revision else await self._seen(key, answer.revision)
        if answer.current is None:  # the comparison failed because of something beside it
            raise self._beside_changed(answer)
        raise KeyExists(self._readable(answer.current))

    async def update(self, key: bytes, value: bytes, expected: int, lease: int = 0, beside: Sequence[Swap] = ()) -> int:
        others = _others(beside) if beside else ()
        answer = await self._swap(
            "update",
            key,
            lambda guard: self.client.update(
                key, value, expected, lease=lease, guard=guard, beside=others, timeout=ANSWER
            ),
        )
        if answer.succeeded:
            self._written(PUT, key, value, answer.revision, beside)
            return answer.revision if self.cache.reached >= answer.revision else await self._seen(key, answer.revision)
        if answer.current is not None and answer.current.mod_revision == expected:
            raise self._beside_changed(answer)
        raise Conflict(answer.current and self._readable(answer.current))

    async def is_stale(self, key: bytes) -> bool:
        transformer = self.client.transformer
        if transformer is None:
            return False
        found = await self.client.get(key)
        return found is not None and isinstance(found.value, StaleValue)

    async def delete(self, key: bytes, expected: int) -> int:
        answer = await self._swap(
            "delete", key, lambda guard: self.client.delete_if(key, expected, guard=guard, timeout=ANSWER)
        )
        if answer.succeeded:
            self._written(DELETE, key, b"", answer.revision)
            return answer.revision if self.cache.reached >= answer.revision else await self._seen(key, answer.revision)
        raise Conflict(answer.current and self._readable(answer.current))

    async def write(self, puts: Sequence[tuple[bytes, bytes]], deletes: Sequence[bytes]) -> int:
        """Puts and deletes keys, no key twice, whatever they were: all in one revision.

        That comes out, 0 if there was nothing to be done. Raises TooLarge, NoSpace.
        """
        revision = await self.client.write(puts, deletes, timeout=ANSWER)
        if not revision:
            return 0
        events = [Event(PUT, KeyValue(key, value, revision, 0, 0), None) for key, value in puts]
        events += [Event(DELETE, KeyValue(key, b"", revision, 0, 0), None) for key in deletes]
        self._acknowledged(*events)
        return revision

    def _swap(
        self, operation: str, key: bytes, attempt: Callable[[Guard | None], Awaitable[SwapResult]]
    ) -> Awaitable[SwapResult]:
        """Makes a write, behind the fence where there is one. Raises Fenced."""
        named = self._named(key)
        if self._fence is None:
            return measured(operation, named, attempt(None))
        return self._swap_fenced(self._fence, operation, named, attempt)

    async def _swap_fenced(
        self,
        fence: Fence,
        operation: str,
        named: tuple[str, str],
        attempt: Callable[[Guard | None], Awaitable[SwapResult]],
    ) -> SwapResult:
        outpost = self._outpost
        while True:
            guard = fence.guard() if outpost is None else await outpost.guard()
            answer = await measured(operation, named, attempt(guard))
            if answer.succeeded or (answer.guard is not None and answer.guard.mod_revision == guard.revision):
                return answer
            if outpost is None:
                fence.moved(answer.guard, guard.revision)
            else:
                outpost.lost(guard)

    async def list(self, prefix: bytes) -> list[StoredObject]:
        resource = self.cache.of_key(prefix + b"x")
        if resource is not None and await self.reads.fresh():
            return [entry.stored() for entry in self.cached_entries(prefix)]
        found = await self.client.range(prefix, prefix_end(prefix))
        return [self._readable(kv) for kv in found.kvs]

    def _named(self, key: bytes) -> tuple[str, str]:
        """The group and the resource that a key is of."""
        resource = self.cache.of_key(key)
        return ("", "") if resource is None else resource.spec.group_resource

    def _written(self, change: int, key: bytes, value: bytes, revision: int, beside: Sequence[Swap] = ()) -> None:
        event = Event(change, KeyValue(key, value, revision, 0, 0), None)
        if beside:
            events = [Event(PUT, KeyValue(other.key, other.value, revision, 0, 0), None) for other in beside]
            self._acknowledged(*events, event)
        else:
            self._acknowledged(event)

    async def _seen(self, key: bytes, revision: int) -> int:
        """A write's revision, once the cache has it where that matters: a write of somebody else may come before it."""
        resource = self.cache.of_key(key)
        if resource is not None and resource.spec.awaited:
            await self.reads.seen(revision)
        return revision

    def _beside_changed(self, answer: SwapResult) -> BesideChanged:
        return BesideChanged([kv and self._readable(kv) for kv in answer.beside])

    def _readable(self, kv: KeyValue) -> StoredObject:
        """What etcd holds as it can be worked with: canonical, or known to be corrupt."""
        resource = self.cache.of_key(kv.key)
        if resource is None:
            resource = self.cache.unfilled_of(kv.key)
        if resource is None:
            return StoredObject(kv.key, kv.value, kv.mod_revision)
        return resource.entry(kv.key, kv.value, kv.mod_revision).stored()


class Stores:
    """Finds the store of a key: that whose cache has the key's resource, `main` for keys of no resource."""

    __slots__ = ("_others", "main")

    def __init__(self, main: EtcdStore, others: Iterable[EtcdStore] = ()) -> None:
        """To be asked once all resources are registered in the caches."""
        self.main = main
        self._others = tuple(dict.fromkeys(others))

    @property
    def all(self) -> tuple[EtcdStore, ...]:
        """Each once, that of most resources first."""
        return (self.main, *self._others)

    def of(self, key: bytes) -> EtcdStore:
        """Where an object is, or would be."""
        for store in self._others:
            if store.cache.of_key(key) is not None:
                return store
        return self.main

    def of_collection(self, prefix: bytes) -> EtcdStore:
        """Where the objects are whose keys start with a prefix that ends in "/"."""
        return self.of(prefix + b"x") if self._others else self.main

    def cached_entry(self, key: bytes) -> Entry | None:
        """As the store's own."""
        return self.of(key).cached_entry(key)

    def cached_entries(self, prefix: bytes) -> list[Entry]:
        """As the store's own."""
        return self.of_collection(prefix).cached_entries(prefix)


def _others(beside: Sequence[Swap]) -> Sequence[Beside]:
    return [Beside(other.key, other.value, None if other.same else other.expected) for other in beside]
