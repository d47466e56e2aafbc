"""Writing objects: every write is one etcd transaction that compares the mod revision.

A write returns only after etcd has committed it. When the outcome is unknown it raises Unanswered. It waits for etcd's
answer as long as kube-apiserver does: a shorter wait would leave more outcomes unknown, and no other request waits for
it. The interface is in storage/protocol.py. A process that stores some resources in other etcds has one store per etcd
(`Stores`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence

from storage.entry import Entry
from storage.errors import BesideChanged, Conflict, KeyExists, NotLoaded, StoredObject
from storage.etcd import DELETE, PUT, EtcdClient, KeyEvent, KeyValue
from storage.etcd.kv import Beside, Guard
from storage.etcd.results import SwapResult
from storage.fence import Fence, Outpost
from storage.keys import prefix_end
from storage.metrics import measured
from storage.protocol import Swap
from storage.reads import Reads
from storage.values import StaleValue
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
        rewrites: bool = False,
        within: Fence | None = None,
    ) -> None:
        """`acknowledged` is called with the events of each write that etcd has acknowledged, before the write returns.

        With a `fence` the store writes only while the fence is held; later writes raise Fenced. If the fence's key is
        in another etcd, `outpost` is a key in this etcd that takes its place in transactions. `within` is a second
        fence, whose key is in this etcd. With `rewrites` every value counts as stale.
        """
        self.client, self.cache, self.reads = client, cache, reads
        self._acknowledged, self._fence, self._outpost, self._rewrites = acknowledged, fence, outpost, rewrites
        self._within = within

    def fenced(self, fence: Fence, holder: EtcdClient | None = None) -> EtcdStore:
        """A store that writes only while `fence` is held, whose key is in the etcd of `holder` (None: in this one), and
        also while the fence of this store is.
        """
        outpost = None if holder is None else Outpost(self.cache.root + OUTPOST, self.client, fence, holder)
        return EtcdStore(self.client, self.cache, self.reads, self._acknowledged, fence, outpost, within=self._fence)

    async def occupy(self) -> None:
        """Ends the writes of earlier holders of the fence in this etcd. Raises Fenced, Unavailable."""
        if self._outpost is not None:
            await self._outpost.guard()

    def reading(self, reads: Reads) -> EtcdStore:
        """The same store, with other `Reads`."""
        return EtcdStore(
            self.client, self.cache, reads, self._acknowledged, self._fence, self._outpost, within=self._within
        )

    def rewriting(self) -> EtcdStore:
        """The same store, whose updates store objects anew even if they do not differ."""
        fences = self._fence, self._outpost
        return EtcdStore(
            self.client, self.cache, self.reads, self._acknowledged, *fences, rewrites=True, within=self._within
        )

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
        if not resource:  # no cache, or an empty one, which is common
            self._require_loaded(prefix)
            return []
        return resource.slice(*resource.bounds(prefix))

    def _require_loaded(self, key: bytes) -> None:
        """Raises NotLoaded for a key of a resource whose objects are not loaded yet."""
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
        if self._rewrites:
            return True
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
        """Puts and deletes keys without a comparison, in one transaction. No key may be given twice.

        Returns the revision, 0 if there was nothing to do. Raises TooLarge, NoSpace.
        """
        revision = await self.client.write(puts, deletes, timeout=ANSWER)
        if not revision:
            return 0
        events = [KeyEvent(PUT, KeyValue(key, value, revision, 0, 0), None) for key, value in puts]
        events += [KeyEvent(DELETE, KeyValue(key, b"", revision, 0, 0), None) for key in deletes]
        self._acknowledged(*events)
        return revision

    def _swap(
        self, operation: str, key: bytes, attempt: Callable[[Guard | None], Awaitable[SwapResult]]
    ) -> Awaitable[SwapResult]:
        """Makes a write; with a fence, only while the fence is held. Raises Fenced."""
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
        outpost, within = self._outpost, self._within
        while True:
            await (fence if within is None else within).announce(self.client)
            guard = fence.guard() if outpost is None else await outpost.guard()
            if within is not None:
                guard = Guard(guard.key, guard.revision, within.guard())
            answer = await measured(operation, named, attempt(guard))
            if answer.succeeded:
                return answer
            if answer.guard is not None and answer.guard.mod_revision == guard.revision:
                if within is None or guard.also is None or _is_at(answer.also, guard.also):
                    return answer
                within.moved(answer.also, guard.also.revision)
            elif outpost is None:
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
        """The API group and the resource of a key; empty strings for a key of no resource."""
        resource = self.cache.of_key(key)
        return ("", "") if resource is None else resource.spec.group_resource

    def _written(self, change: int, key: bytes, value: bytes, revision: int, beside: Sequence[Swap] = ()) -> None:
        event = KeyEvent(change, KeyValue(key, value, revision, 0, 0), None)
        if beside:
            events = [KeyEvent(PUT, KeyValue(other.key, other.value, revision, 0, 0), None) for other in beside]
            self._acknowledged(*events, event)
        else:
            self._acknowledged(event)

    async def _seen(self, key: bytes, revision: int) -> int:
        """Returns the revision of a write. For `awaited` resources it first waits until the cache has the write.

        The cache may lack an earlier write of another process, and cannot apply this one before.
        """
        resource = self.cache.of_key(key)
        if resource is not None and resource.spec.awaited:
            await self.reads.wait_for_write(revision)
        return revision

    def _beside_changed(self, answer: SwapResult) -> BesideChanged:
        return BesideChanged([kv and self._readable(kv) for kv in answer.beside])

    def _readable(self, kv: KeyValue) -> StoredObject:
        """The object of an etcd value: canonical, or marked as corrupt. A key of no resource keeps its raw value."""
        resource = self.cache.of_key(kv.key)
        if resource is None:
            resource = self.cache.unfilled_of(kv.key)
        if resource is None:
            return StoredObject(kv.key, kv.value, kv.mod_revision)
        return resource.entry(kv.key, kv.value, kv.mod_revision).stored()


class Stores:
    """Finds the store of a key: the one whose cache has the key's resource, `main` for keys of no resource."""

    __slots__ = ("_others", "main")

    def __init__(self, main: EtcdStore, others: Iterable[EtcdStore] = ()) -> None:
        """Look-ups are right only after all resources are registered in the caches."""
        self.main = main
        self._others = tuple(dict.fromkeys(others))

    @property
    def all(self) -> tuple[EtcdStore, ...]:
        """All stores, each once, the main one first."""
        return (self.main, *self._others)

    def of(self, key: bytes) -> EtcdStore:
        """The store for the object of a key, whether or not the object exists."""
        for store in self._others:
            if store.cache.of_key(key) is not None:
                return store
        return self.main

    def of_collection(self, prefix: bytes) -> EtcdStore:
        """The store of the objects under a prefix that ends in "/"."""
        return self.of(prefix + b"x") if self._others else self.main

    def cached_entry(self, key: bytes) -> Entry | None:
        """As `Store.cached_entry`, of the right store."""
        return self.of(key).cached_entry(key)

    def cached_entries(self, prefix: bytes) -> list[Entry]:
        """As `Store.cached_entries`, of the right store."""
        return self.of_collection(prefix).cached_entries(prefix)


def _others(beside: Sequence[Swap]) -> Sequence[Beside]:
    return [Beside(other.key, other.value, None if other.same else other.expected) for other in beside]


def _is_at(found: KeyValue | None, guard: Guard) -> bool:
    return found is not None and found.mod_revision == guard.revision
