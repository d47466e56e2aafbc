"""Changes that watchers missed and the caches no longer have: read from etcd's history, once for all these watchers.

A `Past` is one stream of etcd's changes of a resource from a revision on. It is kept in a window; each reader has its
own position there, until the cache's history has the rest. Watchers that need a later revision share the stream. The
number of streams is bounded: a watcher that finds none free waits and shares the next one. So a restart with thousands
of watchers costs one or two streams a resource.

The stream is read at the pace of the fastest reader. A reader that falls behind the window is overrun, as in the cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress

from storage.cache import ResourceCache
from storage.concerning import Concerning
from storage.entry import Change, Entry
from storage.errors import Compacted, Unavailable
from storage.etcd import EtcdClient, Event, KeyValue, Watch, WatchBatch
from storage.history import History, Overrun
from storage.keys import prefix_end
from storage.seeding import change_of
from storage.waking import Interest, Waiters

STREAMS = 16  # at once, of all resources
STREAMS_EACH = 2  # of one resource
GATHER = 0.02  # seconds in which readers that come together agree on the start of their stream
LINGER = 10.0  # seconds that a window is kept for later readers
WINDOW_CHANGES = 10_000
WINDOW_BYTES = 16 << 20
PART = 256  # changes made at once
PART_BYTES = 1 << 20
PATIENCE = 5.0  # seconds that readers may keep a stream waiting that others wait for
ASK = 0.1  # seconds without news after which etcd is asked how far it has come; twice as many each time
MAX_ASK = 10.0
PAUSE = 0.25  # seconds for which readers of everything may delay readers of little
RETRY = 0.1  # seconds between streams that break
_ALL = 1 << 62


class Past:
    """Changes of one resource after a revision, out of etcd."""

    def __init__(self, client: EtcdClient, resource: ResourceCache, start: int) -> None:
        self.resource = resource
        self.revision = start  # up to which everything has come
        self.window = History(start, _ALL, _ALL)
        self.compacted = 0  # what came up to this revision etcd has forgotten
        self.begun = False
        self.busy = False  # whether it has one of the streams
        self.trusted = True  # whether its member's word is relied on as to how far everything has come
        self.readers = self.broad = 0  # the latter want to know of everything
        self.held = False  # whether it waits for its readers
        self.streams = 0  # opened so far
        self.failure: Exception | None = None
        self._client, self._generation = client, resource.generation
        self.concerning = Concerning(self.window, resource.spec.labels_and_fields_of)
        self._waiters = Waiters(resource.spec.labels_and_fields_of)
        self._idle = self._idle_broad = 0  # readers that have read everything
        self._moved = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def void(self) -> bool:
        """Whether nobody may go by it any more: it failed, or the cache was made anew."""
        return self.failure is not None or self.resource.closed or self.resource.generation != self._generation

    def has(self, revision: int) -> bool:
        """Whether it has, or will have, all changes after a revision."""
        return not self.void and (not self.begun or max(self.window.start, self.compacted) <= revision)

    def exchange(self, read: Mapping[Entry, Entry]) -> None:
        """Takes versions that can be read by now in the place of those that could not, and has readers look again."""
        self.window.exchange(read)
        self.concerning.start_over()
        self._waiters.wake_all()

    def reach_back(self, revision: int) -> None:
        """Makes the stream begin at a revision that is earlier than its own, if it has not begun yet."""
        if not self.begun and revision < self.revision:
            self.revision = self.window.start = revision

    def moved(self) -> None:
        """A reader has read all that there is, or is gone."""
        self._moved.set()

    def read_on(self) -> None:
        """Reads the next changes from etcd."""
        if not self.busy and not self.void:
            self.busy = True
            self._task = asyncio.create_task(self._run())

    def end(self, failure: Exception | None = None) -> None:
        """Reads no more of etcd; readers are told of a failure."""
        self.failure = self.failure or failure
        self.busy = False
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        self._waiters.wake_all()

    async def more(self, interest: Interest | None) -> int:
        """Waits for changes that may concern somebody, or until all that there is has come, or it is void.

        Gives the position from which on to look; -1: from where one was.
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

    async def _take(self, events: list[Event]) -> None:
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
        """Wakes those whom changes concern, and everybody where the cache takes over."""
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
        """Until something holds of the readers."""
        while not holds():
            self._moved.clear()
            await self._moved.wait()

    def _lost(self, revision: int) -> None:
        """etcd does not have everything up to a revision any more."""
        self.compacted = max(self.compacted, revision)
        self.revision = max(self.revision, revision)

    def _entry(self, kv: KeyValue) -> Entry:
        found = self.resource.get(kv.key)
        if found is not None and found.revision == kv.mod_revision:
            return found
        return self.resource.entry(kv.key, kv.value, kv.mod_revision)


async def _asking(watch: Watch, trusted: bool) -> AsyncGenerator[WatchBatch]:
    """The batches of a watch, which is asked how far it has come while it is quiet."""
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


def _parts(events: list[Event]) -> Iterator[list[Event]]:
    """Cuts a batch into pieces of whole revisions, of about `PART` events and `PART_BYTES`."""
    part: list[Event] = []
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
    """A reader of the changes after `revision` that concern an interest."""

    def __init__(self, past: Past, revision: int, interest: Interest | None) -> None:
        self.past, self.revision, self._interest = past, revision, interest
        self.position = -1  # in the window of the past

    async def next(self) -> bool:
        """Waits until there is something to read at `position`; False: `revision` is up to where everything has come.

        Raises Compacted, Overrun, StorageError.
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
    """The streams of one process that bring what was missed."""

    def __init__(self, client: EtcdClient) -> None:
        self._client = client
        self._all: list[Past] = []
        self._waiting: list[tuple[ResourceCache, int, asyncio.Future[None]]] = []
        self._alarm: asyncio.TimerHandle | None = None

    def __iter__(self) -> Iterator[Past]:
        return iter([past for past in self._all if not past.void])

    @property
    def streams(self) -> int:
        """How many there are."""
        return sum(past.busy for past in self._all)

    @asynccontextmanager
    async def following(
        self, resource: ResourceCache, revision: int, interest: Interest | None = None
    ) -> AsyncIterator[Reader]:
        """A reader of the changes after a revision; waits until there is a stream for it."""
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
        """A stream that has what came after a revision, or a new one if there may be one more."""
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
            self._alarm = asyncio.get_running_loop().call_later(PATIENCE, self._press, {})
        try:
            await freed
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    def _press(self, seen: dict[Past, int]) -> None:
        """Ends what has not moved for a while, as others wait for it: its readers keep it."""
        self._alarm = None
        for past in [past for past in self._all if past.busy]:
            if past.held and seen.get(past) == past.revision:
                past.end(Overrun())
                self._left(past)
        if self._waiting:
            now = {past: past.revision for past in self._all if past.busy}
            self._alarm = asyncio.get_running_loop().call_later(PATIENCE, self._press, now)

    def _left(self, past: Past) -> None:
        """A past has no readers any more, or has ended: it is kept for a while, and its stream is free for others."""
        past.end()
        asyncio.get_running_loop().call_later(LINGER, self._forget, past)
        waiting, self._waiting = self._waiting, []
        for _, _, freed in waiting:
            if not freed.done():
                freed.set_result(None)

    def _forget(self, past: Past) -> None:
        if not past.readers and past in self._all:
            self._all.remove(past)
