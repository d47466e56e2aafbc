"""Several registries below one common root of etcd, with one client and one watch for all: each key names its registry.

A registry is a `PartCache`: a watch cache that the common feed fills. All parts have reached the same revision.
`Common.attach` loads the objects of a part. `Common.detach` removes them from memory. After that, the feed drops the
changes of the part, and reports only the part's name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from storage.cache import ResourceCache
from storage.consistency import ConsistentReads
from storage.errors import Compacted, Unavailable, WholeReplaced
from storage.etcd import DELETE, PUT, EtcdClient, KeyEvent, KeyValue
from storage.feed import Feed
from storage.fence import REPLACED
from storage.load import Keep, Loaded, Told, load, take_over
from storage.seeded.client import SeededClient, in_etcd
from storage.seeded.entry import SeededEntry, seeded
from storage.seeded.seeds import BORN, MARKS, Seeds, is_replaced
from storage.seeded.watch import deletion
from storage.time_slice import TimeSlice
from storage.unowned_objects import Taking, Unowned, Value, Values
from storage.usage import Usage
from storage.watch_cache import WatchCache

ATTEMPTS = 20
RETRY = 0.1  # seconds
LOADS = 32  # parts that are loaded at once

_OWN = b"apiserver-gateway/"  # below the root of a part: keys that are only about the part, and the marks of seeds

Stirred = Callable[[str], None]
"""A function that gets the name of a detached part when one of the part's keys was written or deleted."""
_EVENTS = b"events/"  # etcd deletes expired events; no controller has to react


class PartCache(WatchCache):
    """The watch cache of one part. Its revision is that of the common cache while the part is attached, else 0."""

    def __init__(self, common: CommonCache, name: str, seeds: Seeds | None = None) -> None:
        self._common, self.seeds = common, seeds
        self.name, self.minor = name.encode(), ""  # the minor of Kubernetes whose controllers work in it
        self.attached = False
        # whether the end of the part has begun; whether a write came after that
        self.nobody_looks = self.is_overlooked = False
        self.is_as_begun = False  # whether no client has written in the part so far
        self.on_first_write: Callable[[], None] = _nothing  # called when `is_as_begun` becomes false
        self._usage: Usage | None = None
        super().__init__(common.root + self.name + b"/")

    @property
    def reached(self) -> int:
        """The revision up to which all changes of this part are applied."""
        return self._common.reached if self.attached else 0

    @reached.setter
    def reached(self, revision: int) -> None:
        """Does nothing: the revision is that of the common cache."""

    @property
    def compacted(self) -> int:
        """The compact revision of etcd, as far as known."""
        return self._common.compacted

    @compacted.setter
    def compacted(self, revision: int) -> None:
        """Does nothing: the common cache has the compact revision."""

    def reach(self, revision: int) -> asyncio.Future[None]:
        return self._common.reach(revision)

    def usage(self) -> Usage:
        """The number and bytes of the part's objects. The first call counts them; later changes are followed."""
        if self._usage is None:
            self._usage = Usage()
            for resource in self:
                self._usage.follow(resource)
        return self._usage

    @property
    def needs_nobody(self) -> bool:
        """Whether controllers have no work: the part has only its seeds, and controllers handled equal seeds."""
        return self.is_as_begun and self.seeds is not None and self.seeds.contents.needs_nobody(self.minor)

    def written(self) -> None:
        """Notes that a client has written in the part, or may have."""
        if self.is_as_begun:
            self.is_as_begun = False
            self.on_first_write()

    def is_own(self, key: bytes) -> bool:
        """Whether a key of etcd describes the part itself: the key has no object, and no mark of one."""
        return key.startswith(_OWN, len(self.root)) and not key.startswith(MARKS, len(self.root))

    async def unchanged_seeds(self, stored: Values) -> Values:
        """The unchanged seeds by key, in the form of loaded values. `stored` has the values that etcd has."""
        found: Values = {}
        if (seeds := self.seeds) is not None:
            piece = TimeSlice()
            for place, key in enumerate(seeds.keys()):
                if seeds.mark_of(key) not in stored and key not in stored:
                    found[key] = self._kept_seed(seeds, place, key), seeds.revision
                if piece.over():
                    await piece.next()
        return found

    def _kept_seed(self, seeds: Seeds, place: int, key: bytes) -> Value:
        resource = self.of_key(key)
        if resource is None or resource not in self._loading:
            return seeds.value(place)
        spec = resource.spec
        if not spec.trusts_marks:  # a custom resource; its form depends on the definition in this part
            value = seeds.value(place)
            return seeded(resource.entry(key, value, seeds.revision), value, seeds, place)

        def head() -> bytes | None:
            value = seeds.value(place)
            made = seeded(resource.entry(key, value, seeds.revision), value, seeds, place)
            return made.head if type(made) is SeededEntry else None

        found = seeds.contents.derived(place, (spec.head, spec.canonicalise), head)
        if found is None:
            return resource.entry(key, seeds.value(place), seeds.revision)
        return SeededEntry(key, found, seeds, place)

    def add(self, resource: ResourceCache) -> ResourceCache:
        added = super().add(resource)
        if self._usage is not None:
            self._usage.follow(added)
        return added

    def remove(self, resource: ResourceCache) -> None:
        if self.has(resource.spec.prefix):  # not after `end`
            super().remove(resource)
            if self._usage is not None:
                self._usage.leave(resource.spec.prefix)

    def end(self) -> None:
        """Ends all caches and drops them. Cuts the references between caches and listeners, so that both are freed."""
        for resource in self:
            resource.closed = True
            resource.start_over()
            resource.tell(None)
            resource._listeners = ()
            resource.wake_all()
        self._by_segment.clear()
        self.on_first_write = _nothing

    def seen_by(self, client: EtcdClient) -> EtcdClient:
        """A client that reads the part's seeds as if etcd had them."""
        return client if self.seeds is None else SeededClient(client, self.seeds)

    def is_unchanged(self, key: bytes) -> bool:
        """Whether the cache still has the seed of a key unchanged."""
        resource = self.of_key(key)
        entry = None if resource is None else resource.get(key)
        return entry is not None and self.seeds is not None and entry.revision == self.seeds.revision

    def is_first_change(self, key: bytes, mark: KeyEvent) -> bool:
        """Whether a mark's event is the first change of the mark's seed, so that a deletion of the seed must be told.
        The cache of a registered resource knows that. Other keys are not in a cache: the mark's version decides.
        """
        return mark.kv.version == 1 if self.of_key(key) is None else self.is_unchanged(key)

    def forget_memos(self) -> None:
        """Frees what was remembered for objects, such as their parsed forms and the texts of seeds."""
        for resource in self:
            for entry in resource.all_entries():
                entry.forget()


class CommonCache(WatchCache):
    """The attached parts. To a feed it is one watch cache."""

    def __init__(self, root: bytes, stirred: Stirred) -> None:
        super().__init__(root)
        self.parts: dict[bytes, PartCache] = {}
        self.takings: dict[bytes, Taking] = {}  # of the parts that are being attached
        self.unowned = _OfParts(self)
        self._stirred = stirred
        self.replaced: Stirred = _nothing  # gets the name of a part whose seeds were replaced
        self.loaded: Callable[[], None] = _nothing  # is called when all parts are loaded anew: events may be missing
        self.settled = asyncio.Event()  # cleared while all parts are loaded; no part is attached meanwhile
        self.settled.set()

    def __iter__(self) -> Iterator[ResourceCache]:
        return (resource for part in self.parts.values() for resource in part)

    def stir(self, name: bytes) -> None:
        """Reports a write in a detached part."""
        self._stirred(name.decode(errors="replace"))

    def replace(self, name: bytes) -> None:
        """Stops feeding a part, because its keys now belong to other seeds. The caches keep their content."""
        if (part := self.parts.pop(name, None)) is not None:
            part.attached = False
        if (taking := self.takings.get(name)) is not None:
            taking.void = True
        self.replaced(name.decode(errors="replace"))

    def part_of(self, key: bytes) -> bytes:
        """The name of the part that a key belongs to."""
        return key[len(self.root) :].partition(b"/")[0]

    def of_key(self, key: bytes) -> ResourceCache | None:
        part = self.parts.get(self.part_of(key))
        return None if part is None else part.of_key(key)

    async def read(self, client: EtcdClient, root: bytes, keep: Keep, told: Told) -> Loaded:
        """Loads the objects of all attached parts as of one revision. Raises StorageError."""
        self.settled.clear()
        try:
            revision = await client.revision(root)
            values, last = {}, None
            for part in list(self.parts.values()):
                found = await load(part.seen_by(client), part.root, keep, told, revision)
                if is_replaced(part.seeds, part.root, found.values):
                    self.replace(part.name)
                    continue
                values.update(found.values)
                if found.last is not None and (last is None or found.last.kv.mod_revision > last.kv.mod_revision):
                    last = in_etcd(found.last, part.seeds)
            self.loaded()
            return Loaded(values, revision, last)
        finally:  # the feed puts the values into the caches before another task runs; that makes all takings void
            self.settled.set()


class _OfParts(Unowned):
    """Passes the keys of no registered resource on to the part that they belong to."""

    def __init__(self, cache: CommonCache) -> None:
        super().__init__(cache.root)
        self._cache = cache

    def put(self, key: bytes, value: Value, revision: int) -> None:
        name = self._cache.part_of(key)
        part, taking = self._cache.parts.get(name), self._cache.takings.get(name)
        if part is not None:
            part.unowned.put(key, value, revision)
        elif taking is not None:
            taking.changes[key] = value, revision
        else:
            self._cache.stir(name)

    def remove(self, key: bytes) -> None:
        name = self._cache.part_of(key)
        part, taking = self._cache.parts.get(name), self._cache.takings.get(name)
        if part is not None:
            part.unowned.remove(key)
        elif taking is not None:
            taking.changes[key] = None
        elif not key.startswith(_EVENTS, len(self._cache.root) + len(name) + 1):
            self._cache.stir(name)

    def start_over(self) -> None:
        for part in self._cache.parts.values():
            part.unowned.start_over()
            part.written()  # the next load may bring other objects
        for taking in self._cache.takings.values():
            taking.void = True


class CommonFeed(Feed):
    """The feed of a common cache. A mark means the deletion of its seed, unless the same revision puts the seed."""

    def _apply(self, events: list[KeyEvent]) -> None:
        if not events:
            return
        for event in events:
            if event.kv.key.endswith(BORN) and event.type == PUT and event.kv.version > 1:
                self._replace(event.kv.key)
        last = self._stored(events[-1])
        super()._apply(self._told(events) if any(MARKS in event.kv.key for event in events) else events)
        self._last = last
        for event in events:
            part = self._part(event.kv.key)
            if part is not None and (part.is_as_begun or part.nobody_looks) and not part.is_own(event.kv.key):
                part.is_overlooked = part.nobody_looks
                part.written()

    def _replace(self, key: bytes) -> None:
        assert isinstance(self._cache, CommonCache)
        name = self._cache.part_of(key)
        if key == self._cache.root + name + b"/" + BORN:
            self._cache.replace(name)

    def _part(self, key: bytes) -> PartCache | None:
        assert isinstance(self._cache, CommonCache)
        return self._cache.parts.get(self._cache.part_of(key))

    def _stored(self, event: KeyEvent) -> KeyEvent:
        """The event as etcd sends it to a later watch: for an own deletion of a seed, the put of its mark."""
        key = event.kv.key
        part = self._part(key) if event.type == DELETE else None
        if part is None or part.seeds is None or not part.is_unchanged(key) or part.seeds.place(key) < 0:
            return event
        return KeyEvent(PUT, KeyValue(part.seeds.mark_of(key), b"", event.kv.mod_revision, 0, 0), None)

    def _told(self, events: list[KeyEvent]) -> list[KeyEvent]:
        told = []
        for event in events:
            told.append(event)
            part = self._part(event.kv.key)
            if part is None or part.seeds is None or (key := part.seeds.of_mark(event.kv.key)) is None:
                continue
            put = any(each.kv.key == key and each.kv.mod_revision == event.kv.mod_revision for each in events)
            if event.type == PUT and not put and part.is_first_change(key, event):
                told.append(deletion(key, event.kv.mod_revision, part.seeds))
        return told


class Common:
    """The common cache, and the feed that fills it."""

    def __init__(self, client: EtcdClient, cache: CommonCache, feed: Feed, consistent: ConsistentReads) -> None:
        self.client, self.cache, self.feed, self.consistent = client, cache, feed, consistent
        self._room = asyncio.Semaphore(LOADS)

    @property
    def root(self) -> bytes:
        """The prefix of all keys."""
        return self.cache.root

    async def attach(self, whole: WatchCache) -> None:
        """Loads the objects of a part, and feeds the part's cache from now on. Afterwards the cache has all writes that
        were acknowledged before the call. Raises StorageError, WholeReplaced if the seeds were replaced.
        """
        part, cache = _part(whole), self.cache
        await self.feed.ready.wait()
        await self.consistent.fresh()
        async with self._room:
            if (former := cache.parts.get(part.name)) is not None:
                self.detach(former)  # the part's last end failed half-way
            for _ in range(ATTEMPTS):
                await cache.settled.wait()
                taking = cache.takings[part.name] = Taking(part.root, {})
                part.begin_load(anew=True)
                try:
                    loaded = await load(self.client, part.root, part.kept, at=cache.reached)
                    if is_replaced(part.seeds, part.root, loaded.values):
                        raise WholeReplaced(REPLACED)
                    is_as_begun = part.seeds is not None and all(map(part.is_own, loaded.values))
                    loaded.values.update(await part.unchanged_seeds(loaded.values))
                except Compacted:  # the feed gets the same error, and reads a newer revision
                    await asyncio.sleep(RETRY)
                    continue
                finally:
                    part.end_load()
                    del cache.takings[part.name]
                if not taking.void and cache.settled.is_set() and cache.reached:
                    part.is_as_begun = is_as_begun and all(map(part.is_own, taking.changes))
                    self._take_over(part, loaded, taking)
                    return
        raise Unavailable("the objects could not be loaded: etcd compacts revisions faster than they are read")

    def _take_over(self, part: PartCache, loaded: Loaded, taking: Taking) -> None:
        values = loaded.values
        for key, change in taking.changes.items():
            seed = None if part.seeds is None else part.seeds.of_mark(key)
            if seed in values and part.seeds is not None and values[seed][1] == part.seeds.revision:
                del values[seed]  # the seed was deleted, or updated with `change`
            if change is None:
                values.pop(key, None)
            else:
                values[key] = change
        part.attached = True
        self.cache.parts[part.name] = part
        take_over(part, values)
        for resource in part:
            resource.history.start = max(resource.history.start, part.reached)
            resource.tell(None)
            resource.wake_all()
        part.forget_memos()

    def detach(self, whole: WatchCache) -> None:
        """Stops feeding a part, ends its watches, and empties its caches. Reports the part's name if a client has
        written in the part since its end began.
        """
        part = _part(whole)
        if self.cache.parts.get(part.name) is part:
            del self.cache.parts[part.name]
        part.attached = False
        part.unowned.start_over()
        part.end()
        if part.is_overlooked:
            self.cache.stir(part.name)


def _nothing(*_: object) -> None:
    return None


def _part(cache: WatchCache) -> PartCache:
    assert isinstance(cache, PartCache), "the cache of a part"
    return cache
