"""The one watch on the whole registry: a totally ordered stream of changes that keeps the watch cache up to date.

It starts with a load by pages at one revision and follows from there. When the stream breaks (etcd restarted, leader
changed) it goes on after the last revision it has applied, so that nothing is lost or repeated. Only when etcd has
compacted what came after that does it load anew and emit the difference. When etcd no longer has what was applied last
(a backup was restored, its newest writes were lost) nothing here can be relied on: everything is dropped and loaded
anew, and watchers have to start again.

What this process writes itself is applied when etcd acknowledges it, in its turn. The stream brings it again, message
by message, and under a load of writes it can't keep up; when something is missed of which only the stream will tell,
and the stream is far behind, it starts anew after what was applied last: etcd then sends many changes at once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from operator import itemgetter

from storage.cache import ResourceCache, WatchCache
from storage.errors import Compacted, FutureRevision, StorageError
from storage.etcd import EtcdClient, Event, KeyValue, Watch, WatchBatch
from storage.etcd.results import DELETE, PUT
from storage.own_writes import OwnWrites

log = logging.getLogger(__name__)

LOAD_PAGE = 500
RETRY = 0.1  # seconds between attempts while etcd is away
PART = 64  # changes applied at once: values of other writers take their time
FAR_BEHIND = 256  # revisions
GAP = 0.05  # seconds that acknowledgements may take to come in order
REDUNDANT_PAUSE = 0.01  # seconds
RESTART_INTERVAL = 0.25  # seconds between the starts of streams that fell behind
Loaded = dict[bytes, tuple[bytes, int]]  # key -> value, mod revision


class Feed:
    """Feeds a `WatchCache` from etcd until it is cancelled."""

    def __init__(self, client: EtcdClient, cache: WatchCache) -> None:
        self._client, self._cache = client, cache
        self._watch: Watch | None = None
        self._reload = False
        self._last: Event | None = None  # of those applied
        self._own = OwnWrites()
        self._known = 0  # a revision that etcd has
        self._following = False
        self._wrote = 0.0  # when the last own write was, by the monotonic clock
        self._missing_after, self._missing_since = 0, 0.0  # the revision before a gap, and when it was noticed
        self._restarted = 0.0
        self.ready = asyncio.Event()  # set by the first load
        self.connected = False
        self.error: StorageError | None = None  # what keeps it from following, since that was interrupted
        self.progress_trusted = False  # whether this etcd's progress notifications keep the order

    async def run(self) -> None:
        """Loads and follows, for ever."""
        while True:
            try:
                if not self._reload and self.ready.is_set() and await self._rewound():
                    log.error("etcd has lost revisions that it had, loading anew", extra={"had": self._cache.reached})
                    self.ready.clear()
                if self._reload or not self.ready.is_set():
                    await self._load()
                await self._follow()
            except Compacted:
                log.warning("feed fell behind etcd's compaction, loading anew", extra={"reached": self._cache.reached})
                self._reload = True
            except StorageError as error:
                if self.connected:
                    log.warning("feed interrupted: %s", error)
                self.connected, self.error = False, error
                await asyncio.sleep(RETRY)

    async def request_progress(self) -> bool:
        """Asks etcd for the revision up to which the watch has seen everything; False if it can't be relied on."""
        if self._watch is None or not self.progress_trusted:
            return False
        try:
            await self._watch.request_progress()
        except StorageError:
            return False
        return True

    def acknowledged(self, event: Event) -> None:
        """Takes note of a write of this process: the only change of its revision."""
        revision = event.kv.mod_revision
        self.notice(revision)
        self._wrote = time.monotonic()
        if not self._following or revision <= self._cache.reached:
            return
        self._own.add(event)
        self._apply(self._own.following(self._cache.reached))

    def notice(self, revision: int) -> None:
        """Takes note of a revision that etcd has."""
        self._known = max(self._known, revision)

    async def _load(self) -> None:
        self.progress_trusted = await self._client.progress_notifications_correct()
        loaded: Loaded = {}
        revision = 0
        async for at, kvs in self._pages():
            revision = at
            for kv in kvs:
                loaded[kv.key] = (kv.value, kv.mod_revision)
        anew = not self.ready.is_set()
        self._cache.unowned.start_over()
        if anew:
            self._cache.start_over()
            self._take_over(loaded)
        else:
            self._apply_difference(loaded, revision)
        self._last = _newest(loaded)
        self._reload = False
        self._cache.advance(revision)
        for resource in self._cache:
            resource.history.start = max(resource.history.start, revision)
            if anew:
                resource.tell(None)
            resource.wake()
        self.ready.set()

    async def _pages(self) -> AsyncIterator[tuple[int, list[KeyValue]]]:
        """Everything under the root, as of one revision."""
        key, revision = self._cache.root, 0
        end = key[:-1] + bytes([key[-1] + 1])
        while True:
            answer = await self._client.range(key, end, limit=LOAD_PAGE, revision=revision)
            revision = revision or answer.revision
            yield revision, answer.kvs
            if not answer.more:
                return
            key = answer.kvs[-1].key + b"\0"

    def _take_over(self, loaded: Loaded) -> None:
        by_resource: dict[int, tuple[ResourceCache, list[tuple[bytes, bytes, int]]]] = {}
        for key, (value, revision) in loaded.items():
            resource = self._cache.of_key(key)
            if resource is None:
                self._cache.unowned.put(key, value, revision)
            else:
                by_resource.setdefault(id(resource), (resource, []))[1].append((key, value, revision))
        for resource, items in by_resource.values():
            resource.load(items)

    def _apply_difference(self, loaded: Loaded, revision: int) -> None:
        """Emits, in order, the changes that lead from what the cache has to what was loaded.

        All at once: until the revision is reached nobody may see any of it.
        """
        reached, changed = self._cache.reached, []
        for key, (value, mod) in loaded.items():
            resource = self._cache.of_key(key)
            if resource is None:
                self._cache.unowned.put(key, value, mod)
            elif mod > reached:
                changed.append((mod, key, resource))
        changed.sort(key=itemgetter(0, 1))
        for mod, key, resource in changed:
            resource.put(key, loaded[key][0], mod)
        for resource in self._cache:
            for key in resource.all_keys():
                if key not in loaded:
                    resource.remove(key, revision)

    async def _rewound(self) -> bool:
        """Whether what was applied last is not what etcd has at that revision, if it has come so far at all."""
        reached, last = self._cache.reached, self._last
        try:
            if last is None:
                await self._client.range(self._cache.root, revision=reached)
                return False
            kv = last.kv
            found = (await self._client.range(kv.key, revision=reached)).kvs
            if last.type != DELETE:
                return not found or (found[0].mod_revision, found[0].value) != (kv.mod_revision, kv.value)
            return bool(found) or not (await self._client.range(kv.key, revision=kv.mod_revision - 1)).kvs
        except FutureRevision:
            return True
        except Compacted:
            return False

    async def _follow(self) -> None:
        self._own.clear()
        self._known = self._cache.reached  # what was known before may be lost with an etcd that was set back
        self._following = True
        try:
            while True:
                await self._stream()
        finally:
            self._following = False

    async def _stream(self) -> None:
        """Follows one watch; returns when it has fallen so far behind that a new one is quicker."""
        root, cache = self._cache.root, self._cache
        end = root[:-1] + bytes([root[-1] + 1])
        watch = self._client.watch(root, end, start_revision=cache.reached + 1, own_stream=True)
        self._watch = watch
        try:
            async for batch in watch:
                self.connected, self.error = True, None
                if batch.events:
                    await self._take(batch)
                elif batch.progress and self.progress_trusted:
                    cache.advance(batch.revision)
                if self._known - batch.revision > FAR_BEHIND and self._should_restart(batch.revision):
                    return
        finally:
            self._watch = None
            await watch.cancel()

    async def _take(self, batch: WatchBatch) -> None:
        """Applies what a message tells. While it is nothing new, own writes follow each other: no hurry to read on."""
        if batch.revision <= self._cache.reached:
            if self._known <= self._cache.reached and self._is_writing():
                await asyncio.sleep(REDUNDANT_PAUSE)
            return
        for part in _parts(batch.events):
            self._apply_told(part)
            if len(part) >= PART:
                await asyncio.sleep(0)

    def _is_writing(self) -> bool:
        return time.monotonic() - self._wrote < GAP

    def _should_restart(self, told: int) -> bool:
        """Whether the stream, far behind, keeps from us what only it will tell: known to be missing, or possibly."""
        now, reached = time.monotonic(), self._cache.reached
        if now - self._restarted < RESTART_INTERVAL:
            return False
        if reached != self._missing_after:
            self._missing_after, self._missing_since = reached, now
        if self._known > reached:
            due = self._known - reached > FAR_BEHIND or now - self._missing_since >= GAP
        else:
            due = reached - told > FAR_BEHIND and not self._is_writing()
        if due:
            self._restarted = now
        return due

    def _apply_told(self, events: list[Event]) -> None:
        reached = self._cache.reached
        for event in events:
            self._own.told(event.kv.mod_revision)
        self._apply([event for event in events if event.kv.mod_revision > reached])
        if self._own:
            self._apply(self._own.following(self._cache.reached))

    def _apply(self, events: list[Event]) -> None:
        if not events:
            return
        cache = self._cache
        touched: set[ResourceCache] = set()
        for event in events:
            kv = event.kv
            resource = cache.of_key(kv.key)
            if resource is None:
                if event.type == DELETE:
                    cache.unowned.remove(kv.key)
                else:
                    cache.unowned.put(kv.key, kv.value, kv.mod_revision)
                continue
            touched.add(resource)
            if event.type == DELETE:
                resource.remove(kv.key, kv.mod_revision)
            else:
                resource.put(kv.key, kv.value, kv.mod_revision)
        self._last = events[-1]
        cache.advance(events[-1].kv.mod_revision)
        for resource in touched:
            resource.wake()


def _newest(loaded: Loaded) -> Event | None:
    """The last of the writes that led to what was loaded."""
    key = max(loaded, key=lambda key: loaded[key][1], default=None)
    return None if key is None else Event(PUT, KeyValue(key, *loaded[key], 0, 0), None)


def _parts(events: list[Event]) -> Iterator[list[Event]]:
    """Cuts a batch into pieces of whole revisions."""
    start = 0
    while len(events) - start > PART:
        end = start + PART
        while end < len(events) and events[end].kv.mod_revision == events[end - 1].kv.mod_revision:
            end += 1
        yield events[start:end]
        start = end
    if start < len(events):
        yield events[start:]
