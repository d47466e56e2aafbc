"""WATCH: a stream of changes ("Efficient detection of changes", "Watch bookmarks", "Streaming lists").

A watcher is a position in the resource's history and nothing else: no buffer of its own, so a slow one costs nothing
until what it has not read is dropped; then its stream ends and the client resumes. A version older than the history
is served from etcd's own until the two meet; 410 only if etcd has compacted it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError, expired, service_unavailable
from gateway.jsontypes import dumps
from gateway.resources.resource import Resource
from gateway.server import Gateway
from gateway.verbs.list_options import ListOptions, list_options, parse_resource_version
from gateway.verbs.serving import Served
from gateway.verbs.too_large import too_large
from gateway.verbs.watch_view import View
from storage.entry import Change, ChangeType, Entry
from storage.errors import Compacted, StorageError
from storage.etcd import Event, Watch, WatchBatch
from storage.etcd.results import DELETE
from storage.history import Overrun
from storage.reads import TooLargeRevision

MIN_TIMEOUT = 1800  # seconds; a watch without timeoutSeconds lasts between this and twice as long
BOOKMARK_INTERVAL = 60.0
BOOKMARK_BEFORE_END = 2.0
INITIAL_BATCH = 256
_TOO_OLD = "The resourceVersion for the provided watch is too old."


async def watch(gateway: Gateway, request: Request, resource: Resource) -> Response:
    """Answers a stream of watch events. Raises StatusError for a request that can't be read."""
    served = gateway.served[resource.group, resource.version, resource.resource]
    options = list_options(request, served.selectable, watch=True)
    revision = parse_resource_version(options.resource_version)
    stream = _Stream(gateway, served, _view(served, request, options), options)
    if not options.resource_version or options.send_initial_events is not None:
        await _prepare(stream, revision)
    return Response(200, stream.run(revision), request.representation.content_type)


async def _prepare(stream: _Stream, revision: int) -> None:
    """Brings the cache to where the stream may start from its state; failures become the stream's first event."""
    reads = stream.gateway.store.reads
    try:
        if revision:
            await reads.not_older_than(revision)
        elif not stream.options.resource_version and not await reads.fresh():
            stream.failure = service_unavailable("the watch cache has not caught up with etcd yet")
    except TooLargeRevision as error:
        stream.failure = too_large(error)


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
    failure: StatusError | None = None
    deadline: float = 0.0
    next_bookmark: float = 0.0

    async def run(self, revision: int) -> AsyncIterator[bytes]:
        """The stream's chunks, each of whole events, until the timeout, the shutdown or an error."""
        self._start_clock()
        if self.failure is not None:
            yield _error(self.failure)
            return
        try:
            options = self.options
            from_state = (
                options.send_initial_events is not False if revision == 0 else bool(options.send_initial_events)
            )
            if from_state or options.send_initial_events is not None:
                position = self.served.cache.history.end
                if from_state:
                    async for chunk in self._initial():
                        yield chunk
            else:
                position = -1
                async for chunk, at in self._resume(revision):
                    position = at
                    if chunk:
                        yield chunk
                if position < 0:
                    return
            async for chunk in self._follow(position):
                yield chunk
        except (TimeoutError, Overrun):
            return
        except Compacted:
            yield _error(expired(_TOO_OLD))
        except StorageError as error:
            yield _error(service_unavailable(str(error)))

    def _start_clock(self) -> None:
        asked = self.options.timeout_seconds
        timeout = float(asked) if asked and asked > 0 else MIN_TIMEOUT * (1 + random.random())
        now = time.monotonic()
        self.deadline = now + timeout
        self.next_bookmark = min(now + BOOKMARK_INTERVAL, max(now, self.deadline - BOOKMARK_BEFORE_END))
        if not self.options.allow_bookmarks or timeout <= BOOKMARK_BEFORE_END:
            self.next_bookmark = self.deadline + 1

    async def _initial(self) -> AsyncIterator[bytes]:
        """Synthetic ADDED events for the state that the caller took the position of, and the annotated bookmark."""
        cache, match = self.served.cache, self.options.match
        revision = self.gateway.store.cache.reached
        prefix = self.view.prefix
        entries = cache.slice(*cache.bounds(prefix))
        attributes_of = cache.spec.attributes_of
        for start in range(0, len(entries), INITIAL_BATCH):
            part = entries[start : start + INITIAL_BATCH]
            if match is not None:
                part = [entry for entry in part if match(entry.attributes(attributes_of))]
            if part:
                yield self.view.initial(part)
            else:
                await asyncio.sleep(0)
        if self.options.send_initial_events and self.options.allow_bookmarks:
            yield self._bookmark(revision, b',"annotations":{"k8s.io/initial-events-end":"true"}')

    async def _follow(self, position: int) -> AsyncIterator[bytes]:
        cache, view, stopping = self.served.cache, self.view, self.gateway.stopping
        history = cache.history
        while not stopping.is_set():
            if position < history.end:
                chunk = view.chunk(position)
                position = history.end
                if chunk:
                    yield chunk
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

    async def _resume(self, revision: int) -> AsyncIterator[tuple[bytes, int]]:
        """Chunks with the history position to go on from after each; the last one is where history takes over."""
        watch_cache, history = self.gateway.store.cache, self.served.cache.history
        if revision > watch_cache.reached:
            await asyncio.wait([watch_cache.reach(revision)], timeout=max(0.0, self.deadline - time.monotonic()))
            if watch_cache.reached < revision:
                return
        try:
            yield b"", history.position_after(revision)
        except Overrun:
            async for step in self._from_etcd(revision):
                yield step

    async def _from_etcd(self, revision: int) -> AsyncIterator[tuple[bytes, int]]:
        """Changes out of etcd's own history until the cache's history has what comes next."""
        history, prefix = self.served.cache.history, self.view.prefix
        end = prefix[:-1] + bytes([prefix[-1] + 1])
        source = self.gateway.store.client.watch(
            prefix, end, start_revision=revision + 1, prev_kv=True, own_stream=True
        )
        trusted = self.gateway.feed.progress_trusted
        try:
            async with asyncio.timeout(max(0.0, self.deadline - time.monotonic())):
                await source.start()
            if trusted:
                await source.request_progress()
            while (batch := await self._next(source)) is not None:
                if batch.events:
                    yield self.view.encode([_change(self.served, event) for event in batch.events]), -1
                if batch.revision >= history.start and (batch.events or trusted):
                    await self.gateway.store.reads.not_older_than(batch.revision)
                    yield b"", history.position_after(batch.revision)
                    return
        except TooLargeRevision:
            return
        finally:
            await source.cancel()

    async def _next(self, source: Watch) -> WatchBatch | None:
        """The next batch; None when the time is over or the server stops."""
        step = asyncio.ensure_future(anext(source))
        stop = asyncio.ensure_future(self.gateway.stopping.wait())
        try:
            timeout = max(0.0, self.deadline - time.monotonic())
            await asyncio.wait((step, stop), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            return step.result() if step.done() else None
        finally:
            step.cancel()
            stop.cancel()


def _change(served: Served, event: Event) -> Change:
    cache, kv, before = served.cache, event.kv, event.prev_kv
    previous = None if before is None else cache.entry(before.key, before.value, before.mod_revision)
    if event.type == DELETE:
        gone = previous.at(kv.mod_revision) if previous is not None else cache.entry(kv.key, b"", kv.mod_revision)
        return Change(ChangeType.DELETED, kv.mod_revision, gone, previous)
    type_ = ChangeType.ADDED if kv.version == 1 else ChangeType.MODIFIED
    return Change(type_, kv.mod_revision, cache.entry(kv.key, kv.value, kv.mod_revision), previous)


def _expire(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _error(error: StatusError) -> bytes:
    return b'{"type":"ERROR","object":' + dumps(error.status()) + b"}\n"
