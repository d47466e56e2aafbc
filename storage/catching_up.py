"""Serves watches from before the history of the cache: reads the changes from etcd, once for all such watches.

A `Past` is one watch on etcd (a stream) for the changes of a resource from a revision on. Its window keeps the recent
ones. Each reader has its own position in the window, until the cache's history has the rest. Readers that need a later
revision share the stream. The number of streams is bounded: a reader that finds none free waits, then shares the next
one. So after a restart, thousands of watches cost one or two streams per resource.

The stream is read at the pace of the fastest reader. A reader that falls behind the window is overrun, as in the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress

from storage.cache import ResourceCache
from storage.entry import Change, Entry
from storage.errors import Compacted, Unavailable
from storage.etcd import EtcdClient, KeyEvent, KeyValue, Watch, WatchBatch
from storage.history import History, Overrun
from storage.history_seed import change_of
from storage.keys import prefix_end
from storage.relevant_changes import Concerning
from storage.waiters import Interest, Waiters

STREAMS = 16  # at once, of all resources
STREAMS_EACH = 2  # of one resource
GATHER = 0.02  # seconds that a new stream waits for readers that need an earlier start
LINGER = 10.0  # seconds that a window is kept for later readers
WINDOW_CHANGES = 10_000
WINDOW_BYTES = 16 << 20
PART = 256  # changes made at once
PART_BYTES = 1 << 20
SLOW_READER_TIMEOUT = 5.0  # seconds that slow readers may hold a stream while other watches wait for a free one
ASK = 0.1  # seconds of silence before a progress request; doubled each time
MAX_ASK = 10.0
PAUSE = 0.25  # seconds that readers of all changes (without an interest) may delay the others
RETRY = 0.1  # seconds before a broken stream starts again
_ALL = 1 << 62


class Past:
    """The changes of one resource after a revision, read from etcd's history."""

    def __init__(self, client: EtcdClient, resource: ResourceCache, start: int) -> None:
        self.resource = resource
        self.revision = start  # all changes up to this one have been read
        self.window = History(start, _ALL, _ALL)
        self.compacted = 0  # changes up to this revision are gone from etcd
        self.begun = False
        self.busy = False  # whether it has one of the bounded streams
        self.trusted = True  # whether progress notifications of its etcd member are trusted
        self.readers = self.broad = 0  # all readers, and those without an interest
        self.held = False  # whether it waits for its readers
        self.streams = 0  # opened so far
        self.failure: Exception | None = None
        self._client, self._generation = client, resource.generation
        self.concerning = Concerning(self.window, resource.spec.labels_and_fields_of)
        self._waiters = Waiters(resource.spec.labels_and_fields_of)
        self._idle = self._idle_broad = 0  # readers, and readers without an interest, that have read everything
        self._moved = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def void(self) -> bool:
        """Whether its changes must no longer be used: it failed, or the cache was replaced or loaded anew."""
        return self.failure is not None or self.resource.closed or self.resource.generation != self._generation

    def has(self, revision: int) -> bool:
        """Whether it has, or will have, all changes after a revision."""
        return not self.void and (not self.begun or max(self.window.start, self.compacted) <= revision)

    def exchange(self, read: Mapping[Entry, Entry]) -> None:
        """Replaces versions that could not be read (keys) by the readable ones (values), and wakes all readers."""
        self.window.exchange(read)
        self.concerning.start_over()
        self._waiters.wake_all()

    def reach_back(self, revision: int) -> None:
        """Moves the start of the stream back to `revision`, if that is earlier and the stream has not begun yet."""
        if not self.begun and revision < self.revision:
            self.revision = self.window.start = revision

    def moved(self) -> None:
        """Called when a reader has read all changes, or has left."""
        self._moved.set()

    def read_on(self) -> None:
        """Starts the stream, if it does not run."""
        if not self.busy and not self.void:
            self.busy = True
            self._task = asyncio.create_task(self._run())

    def end(self, failure: Exception | None = None) -> None:
        """Ends the stream. `failure` is raised to the readers."""
        self.failure = self.failure or failure
        self.busy = False
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        self._waiters.wake_all()

    async def more(self, interest: Interest | None) -> int:
        """Waits for changes that may concern an interest, until all changes have been read, or until it is void.

        Returns the position in the window from which to look; -1 means the reader's own position.
        """
        waiter = self._waiters.add(interest)
        self._idle += 1
        self._idle_broad += interest is None
        self.read_on()
        self.moved()
        try:
            return await waiter
        finally:
            self._idle -= 1
            self._idle_broad -= interest is None
            self._waiters.remove(waiter, interest)

    async def _run(self) -> None:
        if not self.begun:
            await asyncio.sleep(GATHER)
            self.begun = True
        while not self.void:
            try:
                await self._stream()
            except Compacted as error:
                self._lost(error.compact_revision - 1)
                self._waiters.wake_all()
            except Unavailable:
                await asyncio.sleep(RETRY)
            except Exception as error:  # its readers get the error
                self.end(error)
        self.end()

    async def _stream(self) -> None:
        prefix = self.resource.spec.prefix
        end = prefix_end(prefix)
        watch = self._client.watch(prefix, end, start_revision=self.revision + 1, prev_kv=True, own_stream=True)
        self.streams += 1
        try:
            await watch.start()
            self.trusted = await watch.progress_correct()
            async with aclosing(_asking(watch, self.trusted)) as batches:
                async for batch in batches:
                    for part in _parts(batch.events):
                        await self._take(part)
                    if self.void:
                        return
                    if self.trusted or batch.events:
                        self.revision = batch.revision
                        await self._tell([])
        finally:
            await watch.cancel()

    async def _take(self, events: list[KeyEvent]) -> None:
        self.window.shrink(WINDOW_CHANGES, WINDOW_BYTES)
        changes = []
        for event in events:
            try:
                changes.append(change_of(event, self._entry))
            except Compacted:
                self._lost(event.kv.mod_revision)
        for change in changes:
            self.window.append(change)
        self.revision = max(self.revision, events[-1].kv.mod_revision)
        await self._tell(changes)

    async def _tell(self, changes: list[Change]) -> None:
        """Wakes the readers that the changes concern; all readers once the cache's history has the rest."""
        self._waiters.tell(changes, self.window.end - len(changes))
        if self.revision >= self.resource.history.start and not changes:
            self._waiters.wake_all(self.window.end)
        else:
            self._waiters.wake_now()
        await asyncio.sleep(0)  # readers that were woken no longer count as idle
        self.held = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(PAUSE):
                    await self._until(lambda: self._idle_broad >= min(self.broad, 1))
            await self._until(lambda: self._idle >= min(self.readers, 1))
        finally:
            self.held = False

    async def _until(self, holds: Callable[[], bool]) -> None:
        """Waits until `holds` is true; looks again each time a reader moves."""
        while not holds():
            self._moved.clear()
            await self._moved.wait()

    def _lost(self, revision: int) -> None:
        """Notes that etcd no longer has all changes up to a revision."""
        self.compacted = max(self.compacted, revision)
        self.revision = max(self.revision, revision)

    def _entry(self, kv: KeyValue) -> Entry:
        found = self.resource.get(kv.key)
        if found is not None and found.revision == kv.mod_revision:
            return found
        return self.resource.entry(kv.key, kv.value, kv.mod_revision)


async def _asking(watch: Watch, trusted: bool) -> AsyncGenerator[WatchBatch]:
    """The batches of a watch. While the watch is quiet, and if `trusted`, it requests progress notifications."""
    ask, step = ASK, asyncio.ensure_future(anext(watch))
    try:
        while True:
            if not (await asyncio.wait((step,), timeout=ask if trusted else None))[0]:
                ask = min(ask * 2, MAX_ASK)
                await watch.request_progress()
                continue
            yield step.result()
            ask, step = ASK, asyncio.ensure_future(anext(watch))
    finally:
        step.cancel()


def _parts(events: list[KeyEvent]) -> Iterator[list[KeyEvent]]:
    """Cuts a batch into parts of about `PART` events or `PART_BYTES`. No part ends within a revision."""
    part: list[KeyEvent] = []
    size = 0
    for event in events:
        if (len(part) >= PART or size >= PART_BYTES) and event.kv.mod_revision != part[-1].kv.mod_revision:
            yield part
            part, size = [], 0
        part.append(event)
        size += len(event.kv.value) + (len(event.prev_kv.value) if event.prev_kv else 0)
    if part:
        yield part


class Reader:
    """A reader of the changes after `revision` that concern an interest (None: all)."""

    def __init__(self, past: Past, revision: int, interest: Interest | None) -> None:
        self.past, self.revision, self._interest = past, revision, interest
        self.position = -1  # in the window of the past

    async def next(self) -> bool:
        """Waits for a change. True: it is at `position`. False: there is none, and `revision` has moved on to the
        revision up to which all changes have been read. Raises Compacted, Overrun, StorageError.
        """
        past, asked = self.past, False
        while True:
            if past.failure is not None:
                raise past.failure
            if past.void:
                raise Overrun
            if self.revision < past.compacted:
                raise Compacted(past.compacted, self.revision)
            if past.begun and past.revision >= self.revision:
                if self.position < 0:
                    self.position = past.window.position_after(self.revision)
                self.position = await past.concerning.next(self._interest, self.position)
                if self.position < past.window.end:
                    return True
                if asked or past.revision > self.revision:
                    self.revision = past.revision
                    return False
            asked = self.position >= 0
            told = await past.more(self._interest if asked else None)
            self.position = max(self.position, told)


class Pasts:
    """All `Past`s of one process, and the bound on their streams."""

    def __init__(self, client: EtcdClient) -> None:
        self._client = client
        self._all: list[Past] = []
        self._waiting: list[tuple[ResourceCache, int, asyncio.Future[None]]] = []
        self._alarm: asyncio.TimerHandle | None = None

    def __iter__(self) -> Iterator[Past]:
        return iter([past for past in self._all if not past.void])

    @property
    def streams(self) -> int:
        """The number of running streams."""
        return sum(past.busy for past in self._all)

    @asynccontextmanager
    async def following(
        self, resource: ResourceCache, revision: int, interest: Interest | None = None
    ) -> AsyncIterator[Reader]:
        """Gives a reader of the changes after a revision; waits until a stream is free for it."""
        while (past := self._find(resource, revision)) is None:
            await self._room(resource, revision)
        past.readers += 1
        past.broad += interest is None
        try:
            yield Reader(past, revision, interest)
        finally:
            past.readers -= 1
            past.broad -= interest is None
            if not past.readers:
                self._left(past)
            elif past.busy:
                past.moved()

    def _find(self, resource: ResourceCache, revision: int) -> Past | None:
        """A `Past` that has the changes after a revision, else a new one; None if no stream is free."""
        self._all = [past for past in self._all if not past.void]
        mine = [past for past in self._all if past.resource is resource]
        busy = [past for past in self._all if past.busy and past.trusted]
        room = len(busy) < STREAMS and sum(past.resource is resource for past in busy) < STREAMS_EACH
        for past in mine:
            if past.has(revision) and (past.busy or room or past.revision >= resource.history.start):
                past.reach_back(revision)
                return past
        if not room:
            return None
        lowest = min([revision, *(each for whose, each, _ in self._waiting if whose is resource)])
        past = Past(self._client, resource, lowest)
        self._all.append(past)
        past.read_on()
        return past

    async def _room(self, resource: ResourceCache, revision: int) -> None:
        """Waits until some stream has ended."""
        freed = asyncio.get_running_loop().create_future()
        waiting = (resource, revision, freed)
        self._waiting.append(waiting)
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(SLOW_READER_TIMEOUT, self._press, {})
        try:
            await freed
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def _press(self, seen: dict[Past, int]) -> None:
        """While readers wait for a stream, ends those that slow readers have held for `SLOW_READER_TIMEOUT` seconds."""
        self._alarm = None
        for past in [past for past in self._all if past.busy]:
            if past.held and seen.get(past) == past.revision:
                past.end(Overrun())
                self._left(past)
        if self._waiting:
            now = {past: past.revision for past in self._all if past.busy}
            self._alarm = asyncio.get_running_loop().call_later(SLOW_READER_TIMEOUT, self._press, now)

    def _left(self, past: Past) -> None:
        """Ends the stream of a `Past` and frees it for others. The window is kept for `LINGER` seconds."""
        past.end()
        asyncio.get_running_loop().call_later(LINGER, self._forget, past)
        waiting, self._waiting = self._waiting, []
        for _, _, freed in waiting:
            if not freed.done():
                freed.set_result(None)

    def _forget(self, past: Past) -> None:
        if not past.readers and past in self._all:
            self._all.remove(past)
