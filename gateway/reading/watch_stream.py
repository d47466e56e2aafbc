"""The chunks of one watch: its initial events, changes, bookmarks, and end.

A slow watch costs no memory. If the history drops changes that it has not read, its stream ends and the client resumes.
Changes older than the history come from `older_history`. While a stream is up to date it waits or rests
(watch_states.py), and changes and bookmarks are written directly.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial

from gateway.endpoints.metrics import LISTS
from gateway.endpoints.versions import NotConverted
from gateway.http.compression import LITTLE
from gateway.http.failures import as_status
from gateway.http.status import StatusError, expired, service_unavailable
from gateway.http.thread_pool import beside
from gateway.http.time_slices import next_turn
from gateway.jsontypes import dumps
from gateway.kinds.model import ConversionFailed
from gateway.reading.older_history import EtcdHistory, reached, too_old
from gateway.reading.open_watch import OpenWatch, Steering
from gateway.reading.readability import check_readable, readable_state, until_readable
from gateway.reading.too_large import too_large
from gateway.reading.view import packed, parts
from gateway.reading.watch_states import Resting, Waiting
from storage.entry import Entry
from storage.errors import AwaitedObject, Compacted, CorruptObject, StorageError
from storage.history import Overrun
from storage.reads import Page, TooLargeRevision

RETRY = 0.5  # seconds until the next attempt, after a conversion webhook has failed
STATE_TIMEOUT = 3.0  # seconds until a watch that wants the latest state gets an error, if a webhook fails


@dataclass(slots=True, eq=False)
class WatchStream(OpenWatch):
    """One watch and the chunks that its task makes."""

    initial: bool = False  # whether it begins with initial events
    page: Page | None = None  # the state for the initial events, until they are sent
    failure: StatusError | None = None
    over: bool = False
    _nudged: bool = False  # whether to call the steering with b"", because it was set just now

    async def prepare(self, revision: int) -> None:
        """Waits until the watch cache has reached the revision; 0 means etcd's latest. If it cannot, the state is read
        from etcd. A revision in the future becomes `failure`, which the stream sends as its only event.
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
        """Sets, or removes, a function of a test that decides what is sent from now on."""
        self.steering, self._nudged = steering, True
        self.state.end()

    async def run(self, revision: int) -> AsyncGenerator[bytes, None]:
        """The stream's chunks, each of whole events, until the timeout, the shutdown or an error. They also end when
        the stream rests; then the next call continues at the same position.
        """
        self.state.leave()
        if not self.deadline:
            self.start_clock()
        if self.failure is not None:
            yield self._error(self.failure)
            return
        try:
            async for chunk in self._chunks(revision):
                if self.steering is not None:
                    async for steered in self.steering(chunk):
                        yield await self._outgoing(steered)
                elif chunk:
                    yield await self._outgoing(chunk)
                chunk = b""  # frees the memory while the stream waits
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
            if not self.state.rests:
                self.over, self.sink = True, None

    async def _outgoing(self, chunk: bytes) -> bytes:
        chunk = self.opening(chunk)
        if not self.packs:
            return chunk
        return self.view.packed(chunk) if len(chunk) < LITTLE else await beside(partial(packed, chunk))

    def _error(self, error: StatusError) -> bytes:
        chunk = self.encoder.error(dumps(error.status()))
        return self.view.packed(chunk) if self.packs else chunk

    async def _chunks(self, revision: int) -> AsyncIterator[bytes]:
        """The chunks, before steering. References to chunks and to the initial state are dropped as soon as possible:
        a waiting stream keeps no old versions of objects in memory.
        """
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
        """The cache's present state; sets the position to continue after it."""
        cache = self.endpoint.cache
        concerned = cache.of_interest(self.view.prefix, self.view.interest)
        entries = cache.slice(*cache.bounds(self.view.prefix)) if concerned is None else concerned
        self.position = cache.history.end
        return Page(entries, self.endpoint.store.cache.reached)

    async def _initial(self) -> AsyncIterator[bytes]:
        """Synthetic ADDED events for the initial state, then the annotated bookmark, if bookmarks are allowed."""
        page, began = self.page, time.monotonic()
        assert page is not None
        for part in parts(page.entries, self.encoder.step):
            await next_turn()
            if self.endpoint.versions.selects:
                await self._converted(part, page.revision)
            if part := self.view.selected(part):
                await self._converted(part, page.revision)
                chunk = self.view.initial(part)
                self.sent(len(part), len(chunk))
                yield chunk
        if self.options.allow_bookmarks and self.options.ends_initial_events:
            yield self.encoder.bookmark(page.revision, initial_events_end=True)
            self._listed(time.monotonic() - began)

    def _listed(self, seconds: float) -> None:
        resource, scope = self.endpoint.resource, "cluster"
        if self.options.name:
            scope = "resource"
        elif self.view.prefix != self.endpoint.cache.spec.prefix:
            scope = "namespace"
        LISTS.labels(resource.group, resource.version, resource.resource, scope).observe(seconds)

    async def _follow(self) -> AsyncIterator[bytes]:
        endpoint, view = self.endpoint, self.view
        history = endpoint.cache.history
        behind = True
        # after the end of a resource its last changes are still sent: a deleted CRD's objects are deleted before
        while not self.is_over() or (endpoint.ended and self.position < history.end):
            if behind:
                self.position = await endpoint.cache.concerning.next(view.interest, self.position)
                behind = self.position < history.end
            if self.position < history.end:
                if endpoint.versions.converts:
                    await self._converted(view.next(self.position))
                try:
                    chunk, self.position = view.chunk(self.position)
                except NotConverted:  # new changes have come meanwhile
                    continue
                except AwaitedObject:
                    await until_readable(endpoint, self.deadline)
                    continue
                if chunk:
                    self.sent(view.count, len(chunk))
                    yield chunk
                    chunk = b""
                if self.position < history.end:
                    await asyncio.sleep(0)
                continue
            self.spread_end()
            now = time.monotonic()
            if now >= self.deadline:
                return
            if self._nudged:
                self._nudged = False
                yield b""
                continue
            if now >= self.next_bookmark:
                self.schedule_bookmark(now)
                yield self.encoder.bookmark(self.endpoint.store.cache.reached)
                continue
            if self.steering is None and self.sink is not None and self.sink.may_rest():
                Resting(self).begin()
                return
            await Waiting(self).until_changed(min(self.deadline, self.next_bookmark) - now)

    async def _converted(self, entries: Sequence[Entry], state: int = 0) -> None:
        """Converts entries. While the conversion webhook fails, the stream waits, as in kube-apiserver.

        `state` is the revision of the initial state, 0 for changes. A watch that wants the latest state raises
        StatusError 504 after STATE_TIMEOUT seconds. Raises StatusError and Overrun.
        """
        versions, begun = self.endpoint.versions, time.monotonic()
        with contextlib.suppress(ConversionFailed):
            await versions.all(entries)
            return
        fresh = state and self.options.resource_version != "0"
        while not self.is_over() and time.monotonic() < self.deadline:
            if fresh and time.monotonic() > begun + STATE_TIMEOUT:
                raise too_large(TooLargeRevision(state, min(entry.revision for entry in entries) - 1))
            await self._pause(RETRY)
            with contextlib.suppress(ConversionFailed):
                await versions.all_in_time(entries)
                return
        raise Overrun  # the stream ends, and its client resumes

    async def _pause(self, seconds: float) -> None:
        """Waits, but not beyond the deadline or the server's stop."""
        with contextlib.suppress(TimeoutError):
            left = max(0.0, self.deadline - time.monotonic())
            await asyncio.wait_for(self.endpoint.services.stopping.wait(), min(seconds, left))

    async def _resume(self, revision: int) -> AsyncIterator[bytes]:
        """The changes after a revision that are no longer in the cache's history; sets the position to follow from."""
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
