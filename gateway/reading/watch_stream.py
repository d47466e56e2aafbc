"""One watch: its initial events, changes, bookmarks, and end.

A watcher is only a position in the resource's history, without a buffer: a slow one costs nothing until changes are
dropped that it has not read; then its stream ends and the client resumes. Changes older than the history come from
`older_history`. The task of an up-to-date stream sleeps, or it has none: changes and bookmarks are written directly.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from gateway.encodings.encoder import Encoder
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.versions import NotConverted
from gateway.http.failures import as_status
from gateway.http.pouring import Sink
from gateway.http.status import StatusError, expired, service_unavailable
from gateway.http.time_slices import next_turn
from gateway.jsontypes import dumps
from gateway.kinds.model import ConversionFailed
from gateway.reading.awaiting import check_readable, readable_state, until_readable
from gateway.reading.list_options import ListOptions
from gateway.reading.older_history import EtcdHistory, reached, too_old
from gateway.reading.too_large import too_large
from gateway.reading.view import View, parts
from storage.entry import Entry
from storage.errors import AwaitedObject, Compacted, CorruptObject, StorageError
from storage.history import Overrun
from storage.reads import Page, TooLargeRevision

BOOKMARK_INTERVAL = 60.0
BOOKMARK_BEFORE_END = 2.0
RETRY = 0.5  # seconds until an object is looked at again that a webhook does not convert
STATE_PATIENCE = 3.0  # seconds until it is said that the most recent state can't be told


Steering = Callable[[bytes], AsyncIterator[bytes]]
"""What tests have a watch do: is given each chunk, b"" when it has something to do of itself; gives what is sent.

Raises Overrun to end the stream, StatusError to end it with an event that says so, Reset to break it off.
"""


@dataclass(slots=True, eq=False, weakref_slot=True)
class WatchStream:
    """One watch under way."""

    endpoint: Endpoint
    encoder: Encoder
    view: View
    options: ListOptions
    initial: bool  # whether it starts with the state
    page: Page | None = None  # that state, until it has been sent
    failure: StatusError | None = None
    position: int = -1  # in the history: what comes next; -1 until it is known
    deadline: float = 0.0
    next_bookmark: float = 0.0
    sink: Sink | None = None  # where chunks may be written at once
    steering: Steering | None = None
    told: Callable[[int], None] | None = None  # is told how many events were sent
    over: bool = False
    resting: bool = False  # whether it has no task and its chunks go on when the sink is woken
    _alarm: int = 0  # while it rests
    _opened: bool = False  # whether a chunk has been given
    _ends_early: bool = False  # whether it is known that the process will stop
    _nudged: bool = False  # whether the steering has something to do of itself
    _wake: asyncio.Future[int] | None = None  # while it waits for changes

    async def prepare(self, revision: int) -> None:
        """Brings the cache to where the stream may start from its state, or reads that state from etcd where the cache
        can't get there; a version that does not exist becomes the stream's first event.
        """
        reads, view = self.endpoint.store.reads, self.view
        try:
            current = await (reads.not_older_than(revision) if revision else reads.fresh())
        except TooLargeRevision as error:
            self.failure = too_large(error)
            return
        if not current:
            match = None if self.endpoint.versions.selects else self.options.match
            self.page = await reads.page_direct(self.endpoint.cache, view.prefix, view.prefix, 0, match)
            check_readable(self.endpoint, self.page.entries)

    def steer(self, steering: Steering | None) -> None:
        """Lets a function of a test decide from now on what is sent."""
        self.steering, self._nudged = steering, True
        self._expire()

    async def run(self, revision: int) -> AsyncGenerator[bytes, None]:
        """The stream's chunks, each of whole events, until the timeout, the shutdown, an error, or until it rests; then
        they go on where they were when it is run again.
        """
        if self.resting:
            self._leave_rest()
        if not self.deadline:
            self._start_clock()
        if self.failure is not None:
            yield self._error(self.failure)
            return
        try:
            async for chunk in self._chunks(revision):
                if self.steering is not None:
                    async for steered in self.steering(chunk):
                        yield self._opening(steered)
                elif chunk:
                    yield self._opening(chunk)
                chunk = b""  # nor is it kept while nothing happens
        except Overrun:
            return
        except Compacted as error:
            yield self._error(expired(too_old(self.endpoint, error)))
        except CorruptObject as error:
            yield self._error(as_status(error))
        except StatusError as error:  # objects could not be converted
            yield self._error(error)
        except StorageError as error:
            yield self._error(service_unavailable(str(error)))
        finally:
            if not self.resting:
                self.over, self.sink = True, None

    def _opening(self, chunk: bytes) -> bytes:
        if self._opened:
            return chunk
        self._opened = True
        return self.encoder.opening(chunk)

    def _error(self, error: StatusError) -> bytes:
        return self.encoder.error(dumps(error.status()))

    async def _chunks(self, revision: int) -> AsyncIterator[bytes]:
        """Keeps neither chunks nor the state that it began with while it waits: old versions would stay with them."""
        if self.page is None and self.position < 0 and (self.initial or not revision):
            self.page = self._state()
            if self.initial:
                self.page = await readable_state(self.endpoint, self.page, self._state, self.deadline)
        if self.page is not None:
            revision = self.page.revision
            if self.initial:
                async for chunk in self._initial():
                    yield chunk
                chunk = b""
            self.page = None
        if self.position < 0:
            async for chunk in self._resume(revision):
                yield chunk
            chunk = b""
        if self.position >= 0:
            async for chunk in self._follow():
                yield chunk
                chunk = b""

    def _state(self) -> Page:
        """The cache's present state; what follows is told from there on."""
        cache = self.endpoint.cache
        concerned = cache.of_interest(self.view.prefix, self.view.interest)
        entries = cache.slice(*cache.bounds(self.view.prefix)) if concerned is None else concerned
        self.position = cache.history.end
        return Page(entries, self.endpoint.store.cache.reached)

    def _start_clock(self) -> None:
        least = self.endpoint.services.settings.min_request_timeout
        timeout = self.options.watch_seconds or least * (1 + random.random())
        now = time.monotonic()
        self.deadline = now + timeout
        self.next_bookmark = min(now + BOOKMARK_INTERVAL, max(now, self.deadline - BOOKMARK_BEFORE_END))
        if not self.options.allow_bookmarks or timeout <= BOOKMARK_BEFORE_END:
            self.next_bookmark = self.deadline + 1

    async def _initial(self) -> AsyncIterator[bytes]:
        """Synthetic ADDED events for a state, and the annotated bookmark, which legacy watches get too."""
        page = self.page
        assert page is not None
        for part in parts(page.entries, self.encoder.step):
            await next_turn()
            if self.endpoint.versions.selects:
                await self._converted(part, page.revision)
            if part := self.view.selected(part):
                await self._converted(part, page.revision)
                chunk = self.view.initial(part)
                self._sent(len(part), len(chunk))
                yield chunk
        if self.options.allow_bookmarks and self.options.ends_initial_events:
            yield self.encoder.bookmark(page.revision, initial_events_end=True)

    async def _follow(self) -> AsyncIterator[bytes]:
        endpoint, view = self.endpoint, self.view
        history = endpoint.cache.history
        behind = True
        # what happened before the end is told: the objects of a CRD that goes are deleted
        while not self._over() or (endpoint.ended and self.position < history.end):
            if behind:
                self.position = await endpoint.cache.concerning.next(view.interest, self.position)
                behind = self.position < history.end
            if self.position < history.end:
                if endpoint.versions.converts:
                    await self._converted(view.next(self.position))
                try:
                    chunk, self.position = view.chunk(self.position)
                except NotConverted:  # more has come meanwhile
                    continue
                except AwaitedObject:
                    await until_readable(endpoint, self.deadline)
                    continue
                if chunk:
                    self._sent(view.count, len(chunk))
                    yield chunk
                    chunk = b""
                if self.position < history.end:
                    await asyncio.sleep(0)
                continue
            self._spread()
            now = time.monotonic()
            if now >= self.deadline:
                return
            if self._nudged:
                self._nudged = False
                yield b""
                continue
            if now >= self.next_bookmark:
                self._schedule_bookmark(now)
                yield self.encoder.bookmark(self.endpoint.store.cache.reached)
                continue
            if self.steering is None and self.sink is not None and self.sink.may_rest():
                self._rest()
                return
            await self._changed(min(self.deadline, self.next_bookmark) - now)

    def _spread(self) -> None:
        """Schedules the stream's end before the process stops, at another time than other streams' ends."""
        services = self.endpoint.services
        if services.draining.is_set() and not self._ends_early:
            self._ends_early = True
            now = time.monotonic()
            left = max(0.0, services.ends_at - now)
            self.deadline = min(self.deadline, now + left * random.uniform(0.5, 1))

    def _over(self) -> bool:
        return self.endpoint.services.stopping.is_set() or self.endpoint.ended

    async def _converted(self, entries: Sequence[Entry], state: int = 0) -> None:
        """Has entries converted. While a webhook fails to, the stream waits, as kube-apiserver's does.

        Who wants the most recent `state` is told after some seconds that it is not there. Raises StatusError.
        """
        versions, begun = self.endpoint.versions, time.monotonic()
        with contextlib.suppress(ConversionFailed):
            await versions.all(entries)
            return
        fresh = state and self.options.resource_version != "0"
        while not self._over() and time.monotonic() < self.deadline:
            if fresh and time.monotonic() > begun + STATE_PATIENCE:
                raise too_large(TooLargeRevision(state, min(entry.revision for entry in entries) - 1))
            await self._pause(RETRY)
            with contextlib.suppress(ConversionFailed):
                await versions.all_in_time(entries)
                return
        raise Overrun  # the stream ends, and its client comes back

    async def _pause(self, seconds: float) -> None:
        """Waits; not for longer than the stream lasts."""
        with contextlib.suppress(TimeoutError):
            left = max(0.0, self.deadline - time.monotonic())
            await asyncio.wait_for(self.endpoint.services.stopping.wait(), min(seconds, left))

    async def _changed(self, seconds: float) -> None:
        """Waits for a change that is not written at once, some seconds at most."""
        cache, interest, loop = self.endpoint.cache, self.view.interest, asyncio.get_running_loop()
        self._wake = loop.create_future()
        timer = loop.call_later(seconds, self._expire)
        cache.follow_changes(self._told, interest)
        try:
            told = await self._wake
            self.position = max(self.position, told)  # read now: what was poured meanwhile has moved it
        finally:
            timer.cancel()
            cache.unfollow_changes(self._told, interest)
            self._wake = None

    def _rest(self) -> None:
        """Has no task for now."""
        self.resting = True
        self.endpoint.cache.follow_changes(self._told, self.view.interest)
        self._set_alarm()

    def _set_alarm(self) -> None:
        self._alarm = self.endpoint.services.alarms.set(min(self.deadline, self.next_bookmark), self)

    def _leave_rest(self) -> None:
        self.resting = False
        self.endpoint.cache.unfollow_changes(self._told, self.view.interest)
        self.endpoint.services.alarms.unset(self._alarm, self)

    def _rise(self) -> None:
        """Has a task again."""
        self._leave_rest()
        if self.sink is not None:
            self.sink.wake()

    def ring(self) -> None:
        """It is time for a bookmark or for the end, or soon."""
        self.position = max(self.position, self.endpoint.cache.unserved(self._told, self.view.interest))
        now = time.monotonic()
        if not self._poured() or now >= self.deadline or not (now < self.next_bookmark or self._marked(now)):
            self._rise()
        else:
            self._set_alarm()

    def _marked(self, now: float) -> bool:
        """Writes a bookmark at once; False when its client is slow."""
        chunk = self.encoder.bookmark(self.endpoint.store.cache.reached)
        poured = self.sink is not None and self._pour(self.sink, chunk)
        if poured:
            self._schedule_bookmark(now)
        return poured

    def _expire(self) -> None:
        """It has waited long enough."""
        wake = self._wake
        if self.resting:
            self._rise()
        if wake is not None and not wake.done():
            wake.set_result(self.endpoint.cache.unserved(self._told, self.view.interest))

    def _told(self, position: int) -> None:
        """Something has changed, from a position on if it is not -1."""
        wake = self._wake
        if not self.resting and (wake is None or wake.done()):
            return
        self.position = max(self.position, position)
        if self._poured():
            return
        if wake is None:
            self._rise()
        else:
            wake.set_result(self.position)

    def _poured(self) -> bool:
        """Writes at once what has changed; False when there is more to do, or what can't be done so."""
        endpoint, sink = self.endpoint, self.sink
        if sink is None or self.steering is not None or endpoint.versions.converts or self._over():
            return False
        if endpoint.services.draining.is_set() and not self._ends_early:
            return False
        end = endpoint.cache.history.end
        if self.position < end:
            try:
                chunk, reached = self.view.chunk(self.position)
            except Exception:  # comes again where it ends the stream
                return False
            events = self.view.count
            if chunk and not self._pour(sink, chunk):
                return False
            if chunk:
                self._sent(events, len(chunk))
            self.position = reached
        return self.position >= end

    def _pour(self, sink: Sink, chunk: bytes) -> bool:
        poured = sink.pour(chunk if self._opened else self.encoder.opening(chunk))
        self._opened = self._opened or poured
        return poured

    def _sent(self, events: int, size: int) -> None:
        self.endpoint.watch_measures.sent(events, size)
        if self.told is not None:
            self.told(events)

    def _schedule_bookmark(self, now: float) -> None:
        last = self.deadline - BOOKMARK_BEFORE_END
        self.next_bookmark = min(now + BOOKMARK_INTERVAL, last) if now < last else self.deadline + 1

    async def _resume(self, revision: int) -> AsyncIterator[bytes]:
        """What came after a revision and is no longer in the cache's history; sets the position to follow from."""
        history = self.endpoint.cache.history
        if revision < self.endpoint.resource.model.since:
            raise Compacted(self.endpoint.resource.model.since, revision)
        if revision > self.endpoint.store.cache.reached and not await reached(self.endpoint, revision, self.deadline):
            return
        while True:
            try:
                self.position = history.position_after(revision)
                return
            except Overrun:
                older = EtcdHistory(self.endpoint, self.view, revision, self.deadline, self._converted)
            async for chunk in older.chunks():
                yield chunk
            if older.over:
                return
            revision = older.revision
