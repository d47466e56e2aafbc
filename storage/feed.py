"""The one watch on the whole registry: a totally ordered stream of changes that keeps the watch cache up to date.

The feed first loads all objects by pages at one revision, then watches from there. If there are very many objects, it
first loads those that all requests depend on, such as RBAC rules; the others follow later (storage/fill.py). When
the watch breaks (etcd restarted, leader changed), the feed goes on after the last applied revision: no change is lost
or repeated. If etcd has compacted the changes after that revision, the feed loads everything and emits the difference.
After a restore of a backup, or a loss of the newest writes, etcd has another history than the cache saw
(storage/lineage.py). Then the feed drops the whole cache and loads it anew, and clients have to start their watches
again.

The writes of this process are applied when etcd acknowledges them, in the order of revisions. The watch brings them
again, one message per change, and falls behind when there are many writes. When it is far behind and a change of
another writer is missing, the feed starts a new watch after the last applied change: etcd then sends many changes at
once.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterator

from storage.cache import ResourceCache
from storage.compaction_key import compact_revision
from storage.errors import Compacted, StorageError, Unavailable
from storage.etcd import DELETE, EtcdClient, KeyEvent, Watch, WatchBatch
from storage.history_seed import seed
from storage.keys import prefix_end
from storage.lineage import Lineage, Rewound, check_resumed
from storage.load import Loaded, Read, apply_difference, load, take_over
from storage.metrics import filled
from storage.own_writes import OwnWrites
from storage.sharing.shared_watch import FeederLost, SharedWatch
from storage.sharing.subscriber import Offered, Subscriber
from storage.stall import Stall
from storage.watch_cache import WatchCache

log = logging.getLogger(__name__)

RETRY = 0.1  # seconds between attempts while etcd is away
MANY = 50_000  # objects from which on a load is made in parts: to load so many takes one to three seconds
PART = 64  # changes applied at once: values of other writers have to be decoded first
FAR_BEHIND = 256  # revisions
GAP = 0.05  # seconds in which acknowledgements that come out of order fill a gap
REDUNDANT_PAUSE = 0.01  # seconds
RESTART_INTERVAL = 0.25  # seconds between the starts of streams that fell behind


class Feed:
    """Feeds a `WatchCache` from etcd until it is cancelled."""

    def __init__(
        self,
        client: EtcdClient,
        cache: WatchCache,
        shared: Subscriber | None = None,
        seeds: bool = True,
        first: Collection[bytes] = (),
        read: Read = load,
    ) -> None:
        """`shared` connects to the process that reads etcd for all workers. With `seeds`, the histories start with the
        changes of the last minutes. `first` are the prefixes of very many keys that a load by `read` loads first.
        """
        self._client, self._cache, self.shared = client, cache, shared
        self._watch: Watch | SharedWatch | None = None
        self._reload, self._began, self._first, self._read = False, not seeds, first, read
        self._resuming = True  # whether the next watch has to check that etcd's history is still the same
        self.lineage = Lineage()
        self._stall = Stall(cache, self.probe, self.request_progress, lambda: self._known, client.members)
        self._last: KeyEvent | None = None  # the last applied event
        self._own = OwnWrites()
        self._known = 0  # the highest revision that etcd is known to have reached
        self._listeners: list[Callable[[int], None]] = []
        self._of_replacement: list[Callable[[], None]] = []
        self._following = False
        self._wrote = 0.0  # when the last own write was, by the monotonic clock
        self._missing_after, self._missing_since, self._restarted = 0, 0.0, 0.0  # the revision before a gap, and times
        self.ready = asyncio.Event()  # set by the first load
        self.connected, self.loaded = False, 0  # objects that the running load has read so far
        self.error: StorageError | None = None  # why the watch is interrupted; None while it runs
        self.progress_trusted = False  # whether progress notifications of this etcd member never overtake events
        if shared is not None:
            shared.known, shared.offer = lambda: self._known, self._offered
            shared.lineage = lambda: (self.lineage.cluster, self.lineage.term)
            shared.load_anew = self.load_anew

    async def run(self) -> None:
        """Loads everything, then follows the watch, for ever."""
        while True:
            try:
                if self.ready.is_set():
                    self.lineage.check(await self._client.head(self._cache.root), self._cache.reached)
                if self._reload or not self.ready.is_set():
                    await self._load()
                await self._follow()
            except Rewound as error:
                log.error(
                    "etcd's history has changed, loading the cache again: %s", error, extra={"had": self._cache.reached}
                )
                self.load_anew()
            except Compacted:
                log.warning(
                    "the watch fell behind etcd's compaction, loading the cache again",
                    extra={"reached": self._cache.reached},
                )
                self._reload = True
            except FeederLost as error:
                log.warning("this process now watches etcd itself: %s", error)
            except StorageError as error:
                if self.connected:
                    log.warning("the watch on etcd was interrupted: %s", error)
                self.connected, self.error = False, error
                await asyncio.sleep(RETRY)

    async def fill(self) -> None:
        """Loads the caches that were set aside at the start, if any."""
        from storage.fill import fill

        def told(objects: int) -> None:
            self.loaded = objects

        while self._cache.unfilled or not self.ready.is_set():
            await self.ready.wait()
            await fill(self._client, self._cache, told)

    def load_anew(self) -> None:
        """Drops the content of the cache, because it may be wrong, and loads it anew."""
        self.ready.clear()
        self._reload = True
        self.lineage.forget()
        if self._watch is not None:
            self._watch.fail(Unavailable("everything is loaded anew"))

    async def probe(self, timeout: float | None = None) -> int:
        """etcd's revision now, by a linearizable read. Raises Unavailable, also if etcd has lost revisions."""
        before = self._cache.reached
        revision = await self._client.revision(self._cache.root, timeout=timeout)
        if revision < before and self._cache.reached >= before:
            if self._watch is not None:
                self._watch.fail(Unavailable("etcd was set back"))
            raise Unavailable(f"etcd has lost revisions that it had: it is at {revision}, after {before}")
        self.notice(revision)
        return revision

    async def request_progress(self) -> bool:
        """Requests a progress notification on the watch; False if there is no watch or progress is not trusted."""
        if self._watch is None or not self.progress_trusted:
            return False
        try:
            await self._watch.request_progress()
        except StorageError:
            return False
        return True

    def acknowledged(self, *events: KeyEvent) -> None:
        """Notes a write of this process: all events of its revision, in order."""
        revision = events[-1].kv.mod_revision
        for listener in self._listeners:
            listener(revision)
        self.notice(revision)
        self._wrote = time.monotonic()
        if not self._following or revision <= self._cache.reached:
            return
        self._own.add(events)
        self._go_on()

    def passed(self, revision: int) -> None:
        """Notes that this process has written outside the root, in a transaction of this revision: it has no event."""
        if self._following and revision > self._cache.reached:
            self._own.skip(revision)
            self._go_on()

    def _go_on(self) -> None:
        events, reached = self._own.following(self._cache.reached)
        self._apply(events)
        self._cache.advance(reached)

    def listen(self, listener: Callable[[int], None]) -> Callable[[], None]:
        """Calls `listener` with the revision of each own write, in the writer's task. Returns a function to end it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def on_replacement(self, listener: Callable[[], None]) -> None:
        """Calls `listener` when the cache is about to be replaced with a new load, which may be empty."""
        self._of_replacement.append(listener)

    def notice(self, revision: int) -> None:
        """Notes that etcd has reached a revision."""
        self._known = max(self._known, revision)

    def _offered(self) -> None:
        """Ends the watch on etcd, because another process offers its changes. Not while that watch is being checked."""
        if isinstance(self._watch, Watch) and self._following:
            self._watch.failed(Offered())

    def _look_for_offer(self, following: SharedWatch | None) -> None:
        """Raises Offered if the watch on etcd is no longer needed."""
        if following is None and self._following and self.shared is not None and self.shared.offers:
            raise Offered

    async def _load(self) -> None:
        began = time.monotonic()
        head = await self._client.head(self._cache.root, prefix_end(self._cache.root))
        loaded = None if self.shared is None else await self.shared.load(head)
        in_parts = self._in_parts(head.count)
        if loaded is None:
            loaded = await (self._load_first() if in_parts else self._load_from_etcd())
        revision = loaded.revision
        anew = not self.ready.is_set()  # read now: `load_anew` may have been called during the load
        self._cache.unowned.start_over()
        if anew:
            self.lineage.cluster, self.lineage.term = head.cluster, head.term
            for listener in self._of_replacement:
                listener()
            self._cache.start_over()
            if in_parts:
                self._cache.set_aside(self._first)
                self._cache.unowned.unread = True
            take_over(self._cache, loaded.values)
        else:
            apply_difference(self._cache, loaded)
        self._last = loaded.last
        self._reload = self._resuming = False
        for resource in self._cache:
            resource.history.start = max(resource.history.start, revision)
        if anew and not self._began:
            if not in_parts:
                await seed(self._client, self._cache, revision)  # later no client has a watch from before
            self._began = True
        self._cache.advance(revision)
        for resource in self._cache:
            if anew:
                filled(resource.spec.group_resource, began)
                resource.tell(None)
            resource.wake_all()
        self.ready.set()

    def _in_parts(self, objects: int) -> bool:
        """Whether to load only the first prefixes now: a start with many objects, or one that is not complete yet."""
        if not self._first or self.shared is not None or self.ready.is_set():
            return False
        return bool(self._cache.unfilled) or (not self._began and objects > MANY)

    async def _load_first(self) -> Loaded:
        from storage.fill import load_first

        return await load_first(self._client, self._first)

    async def _load_from_etcd(self) -> Loaded:
        def told(objects: int) -> None:
            self.loaded = objects

        self._cache.begin_load(anew=not self.ready.is_set())
        try:
            loaded = await self._read(self._client, self._cache.root, self._cache.kept, told)
            if not self._cache.load_fits:  # a resource got another cache meanwhile
                self._cache.begin_load(anew=False)
                loaded = await self._read(self._client, self._cache.root, self._cache.kept, told)
        finally:
            self._cache.end_load()
        return loaded

    async def _follow(self) -> None:
        self._own.clear()
        self._known = self._cache.reached  # a restored etcd may not have the revision known before
        try:
            while not self._reload:  # `load_anew` may be called between two watches
                try:
                    await self._stream(self._last if self._resuming else None)
                except Offered:
                    log.info("changes come from the process that reads etcd for all workers")
                self._resuming = False
        finally:
            self._following, self._resuming = False, True

    async def _stream(self, last: KeyEvent | None) -> None:
        """Follows one watch; returns when it has fallen so far behind that a new one is quicker.

        If `last` (the last applied change) is given, the watch has to begin with it. Raises Rewound, StorageError.
        """
        cache = self._cache
        shared = None if self.shared is None or last is not None else self.shared.take()
        watch = shared or self._on_etcd(last)
        self._watch, self._following = watch, last is None
        guard = asyncio.create_task(self._stall.guard(watch))
        guard.add_done_callback(lambda done: _failed_with(watch, done))
        try:
            await watch.start()
            self.progress_trusted = await watch.progress_correct()
            self._look_for_offer(shared)
            async for batch in watch:
                if self.error is not None and self.ready.is_set():
                    log.info("the watch on etcd continues")
                self.connected, self.error = True, None
                if batch.events:
                    if last is not None:
                        check_resumed(cache, last, batch.events)
                        last, self._following = None, True
                    await self._take(batch)
                elif batch.progress and self.progress_trusted and last is None:
                    cache.advance(batch.revision)
                self._look_for_offer(shared)
                far_behind = self._known - batch.revision > FAR_BEHIND and shared is None
                if far_behind and self._should_restart(batch.revision):
                    return
        finally:
            self._watch = None
            guard.cancel()
            await watch.cancel()

    def _on_etcd(self, last: KeyEvent | None) -> Watch:
        """A watch on etcd after the revision reached, or, if given, from the change `last` on."""
        root = self._cache.root
        start = self._cache.reached + 1 if last is None else last.kv.mod_revision
        return self._client.watch(root, prefix_end(root), start_revision=start, own_stream=True)

    async def _take(self, batch: WatchBatch) -> None:
        """Applies a batch. If it has only own writes that are applied already, and more come, it pauses to save CPU."""
        if batch.revision <= self._cache.reached:
            if self._known <= self._cache.reached and self._is_writing():
                await asyncio.sleep(REDUNDANT_PAUSE)
            return
        for part in parts(batch.events, PART):
            self._apply_told(part)
            if len(part) >= PART:
                await asyncio.sleep(0)

    def _is_writing(self) -> bool:
        return time.monotonic() - self._wrote < GAP

    def _should_restart(self, told: int) -> bool:
        """Whether a new watch is quicker: this one, far behind, is to bring a change that is, or may be, missing."""
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

    def _apply_told(self, events: list[KeyEvent]) -> None:
        reached = self._cache.reached
        for event in events:
            self._own.drop(event.kv.mod_revision)
        self._apply([event for event in events if event.kv.mod_revision > reached])
        if self._own:
            self._go_on()

    def _apply(self, events: list[KeyEvent]) -> None:
        if not events:
            return
        cache = self._cache
        touched, compacted, began = set[ResourceCache](), 0, time.monotonic()
        for event in events:
            kv = event.kv
            resource = cache.of_key(kv.key)
            if resource is None:
                if event.type == DELETE:
                    cache.unowned.remove(kv.key)
                else:
                    cache.unowned.put(kv.key, kv.value, kv.mod_revision)
                    compacted = max(compacted, compact_revision(kv.key, kv.value))
                continue
            touched.add(resource)
            if event.type == DELETE:
                resource.remove(kv.key, kv.mod_revision)
            else:
                resource.put(kv.key, kv.value, kv.mod_revision)
        self._last = events[-1]
        cache.advance(events[-1].kv.mod_revision)
        cache.forget(compacted)
        for resource in touched:
            resource.wake(began)


def _failed_with(watch: Watch | SharedWatch, guard: asyncio.Task[None]) -> None:
    """Ends the watch with the error of its guard task: an unguarded watch could hang."""
    error = None if guard.cancelled() else guard.exception()
    if error is not None:
        watch.failed(error)


def parts(events: list[KeyEvent], size: int) -> Iterator[list[KeyEvent]]:
    """Cuts a batch into parts of about `size` events. No part ends within a revision."""
    start = 0
    while len(events) - start > size:
        end = start + size
        while end < len(events) and events[end].kv.mod_revision == events[end - 1].kv.mod_revision:
            end += 1
        yield events[start:end]
        start = end
    if start < len(events):
        yield events[start:]
