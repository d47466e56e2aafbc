"""WATCH: a stream of changes ("Efficient detection of changes", "Watch bookmarks", "Streaming lists").

A watcher is a position in the resource's history and nothing else: no buffer of its own, so a slow one costs nothing
until what it has not read is dropped; then its stream ends and the client resumes. What is older than the history
comes from `watch_history`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from gateway.http.exchange import Request, Response
from gateway.http.failures import as_status
from gateway.http.status import StatusError, expired, service_unavailable
from gateway.jsontypes import dumps
from gateway.resources.resource import Resource
from gateway.server import Gateway
from gateway.verbs.list_options import ListOptions, list_options, parse_resource_version
from gateway.verbs.serving import Served
from gateway.verbs.too_large import too_large
from gateway.verbs.watch_history import EtcdHistory
from gateway.verbs.watch_view import PART, View
from storage.entry import Entry
from storage.errors import Compacted, CorruptObject, StorageError
from storage.history import Overrun
from storage.reads import Page, TooLargeRevision

MIN_TIMEOUT = 1800  # seconds; a watch without timeoutSeconds lasts between this and twice as long
BOOKMARK_INTERVAL = 60.0
BOOKMARK_BEFORE_END = 2.0
_TOO_OLD = "The resourceVersion for the provided watch is too old."


async def watch(gateway: Gateway, request: Request, resource: Resource) -> Response:
    """Answers a stream of watch events. Raises StatusError for a request that can't be read."""
    served = gateway.served[resource.group, resource.version, resource.resource]
    options = list_options(request, served.selectable, watch=True)
    revision = parse_resource_version(options.resource_version)
    initial = revision == 0 if options.send_initial_events is None else options.send_initial_events
    stream = _Stream(gateway, served, _view(served, request, options), options, initial)
    if not options.resource_version or (initial and revision):
        await _prepare(stream, revision)
    return Response(200, stream.run(revision), request.representation.content_type)


async def _prepare(stream: _Stream, revision: int) -> None:
    """Brings the cache to where the stream may start from its state, or reads that state from etcd where the cache
    can't get there; a version that does not exist becomes the stream's first event.
    """
    reads, view = stream.gateway.store.reads, stream.view
    try:
        current = await (reads.not_older_than(revision) if revision else reads.fresh())
    except TooLargeRevision as error:
        stream.failure = too_large(error)
        return
    if not current:
        stream.page = await reads.page_direct(stream.served.cache, view.prefix, view.prefix, 0, stream.options.match)


def _view(served: Served, request: Request, options: ListOptions) -> View:
    """The view that all watchers of one selection share."""
    prefix = served.collection(request.info.namespace)
    key = (prefix, options.label_selector, options.field_selector, options.name)
    view = served.views.get(key)
    if view is None:
        head, tail = served.head, served.tail

        def encode(entry: Entry) -> bytes:
            return head + tail(entry)

        view = served.views[key] = View(served.cache, prefix, options.match, encode)
    return view


@dataclass(slots=True)
class _Stream:
    """One watch under way."""

    gateway: Gateway
    served: Served
    view: View
    options: ListOptions
    initial: bool  # whether it starts with the state
    page: Page | None = None  # that state, where the cache does not have it
    failure: StatusError | None = None
    position: int = -1  # in the history: what comes next; -1 until it is known
    deadline: float = 0.0
    next_bookmark: float = 0.0

    async def run(self, revision: int) -> AsyncIterator[bytes]:
        """The stream's chunks, each of whole events, until the timeout, the shutdown or an error."""
        self._start_clock()
        if self.failure is not None:
            yield _error(self.failure)
            return
        try:
            async for chunk in self._chunks(revision):
                yield chunk
        except Overrun:
            return
        except Compacted:
            yield _error(expired(_TOO_OLD))
        except CorruptObject as error:
            yield _error(as_status(error))
        except StorageError as error:
            yield _error(service_unavailable(str(error)))

    async def _chunks(self, revision: int) -> AsyncIterator[bytes]:
        cache, page = self.served.cache, self.page
        if page is None and (self.initial or not revision):
            page = Page(cache.slice(*cache.bounds(self.view.prefix)), self.gateway.store.cache.reached)
            self.position = cache.history.end
        if page is not None:
            revision = page.revision
            if self.initial:
                async for chunk in self._initial(page):
                    yield chunk
        if self.position < 0:
            async for chunk in self._resume(revision):
                yield chunk
        if self.position >= 0:
            async for chunk in self._follow():
                yield chunk

    def _start_clock(self) -> None:
        asked = self.options.timeout_seconds
        timeout = float(asked) if asked and asked > 0 else MIN_TIMEOUT * (1 + random.random())
        now = time.monotonic()
        self.deadline = now + timeout
        self.next_bookmark = min(now + BOOKMARK_INTERVAL, max(now, self.deadline - BOOKMARK_BEFORE_END))
        if not self.options.allow_bookmarks or timeout <= BOOKMARK_BEFORE_END:
            self.next_bookmark = self.deadline + 1

    async def _initial(self, page: Page) -> AsyncIterator[bytes]:
        """Synthetic ADDED events for a state, and the annotated bookmark."""
        match, attributes_of = self.options.match, self.served.cache.spec.attributes_of
        entries = page.entries
        for start in range(0, len(entries), PART):
            part = entries[start : start + PART]
            if match is not None:
                part = [entry for entry in part if match(entry.attributes(attributes_of))]
            if part:
                yield self.view.initial(part)
            await asyncio.sleep(0)
        if self.options.send_initial_events and self.options.allow_bookmarks:
            yield self._bookmark(page.revision, b',"annotations":{"k8s.io/initial-events-end":"true"}')

    async def _follow(self) -> AsyncIterator[bytes]:
        view, stopping, history = self.view, self.gateway.stopping, self.served.cache.history
        while not stopping.is_set():
            if self.position < history.end:
                chunk, self.position = view.chunk(self.position)
                if chunk:
                    yield chunk
                if self.position < history.end:
                    await asyncio.sleep(0)
                continue
            now = time.monotonic()
            if now >= self.deadline:
                return
            if now >= self.next_bookmark:
                self._schedule_bookmark(now)
                yield self._bookmark(self.gateway.store.cache.reached)
                continue
            await self._changed(min(self.deadline, self.next_bookmark) - now)

    async def _changed(self, seconds: float) -> None:
        """Waits for a change, some seconds at most."""
        cache = self.served.cache
        waiter = cache.changes()
        timer = asyncio.get_running_loop().call_later(seconds, _expire, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            cache.forget(waiter)

    def _schedule_bookmark(self, now: float) -> None:
        last = self.deadline - BOOKMARK_BEFORE_END
        self.next_bookmark = min(now + BOOKMARK_INTERVAL, last) if now < last else self.deadline + 1

    def _bookmark(self, revision: int, annotations: bytes = b"") -> bytes:
        served = self.served
        metadata = b'"metadata":{"resourceVersion":"%d"%s}' % (revision, annotations)
        return b'{"type":"BOOKMARK","object":' + served.head + metadata + served.empty + b"}\n"

    async def _resume(self, revision: int) -> AsyncIterator[bytes]:
        """What came after a revision and is no longer in the cache's history; sets the position to follow from."""
        history = self.served.cache.history
        if revision > self.gateway.store.cache.reached and not await self._reached(revision):
            return
        while True:
            try:
                self.position = history.position_after(revision)
                return
            except Overrun:
                older = EtcdHistory(self.gateway, self.served, self.view, revision, self.deadline)
            async for chunk in older.chunks():
                yield chunk
            if older.over:
                return
            revision = older.revision

    async def _reached(self, revision: int) -> bool:
        """Waits for a future revision; False when the time is over or the server stops."""
        await self.gateway.feed.request_progress()
        reach = self.gateway.store.cache.reach(revision)
        stop = asyncio.ensure_future(self.gateway.stopping.wait())
        try:
            seconds = max(0.0, self.deadline - time.monotonic())
            await asyncio.wait((reach, stop), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return reach.done()
        finally:
            reach.cancel()
            stop.cancel()


def _expire(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _error(error: StatusError) -> bytes:
    return b'{"type":"ERROR","object":' + dumps(error.status()) + b"}\n"
