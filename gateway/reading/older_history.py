"""What a watcher missed that the cache no longer has: out of etcd's own history, until the two meet.

410 Gone is answered only when etcd itself has compacted what comes next.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from gateway.endpoints.endpoint import Endpoint
from gateway.reading.view import PART, View, versions_in
from storage.entry import Change, ChangeType, CorruptEntry
from storage.errors import Compacted, StorageError, Unavailable
from storage.etcd import Event, WatchBatch
from storage.etcd.results import DELETE
from storage.feed import RETRY
from storage.reads import TooLargeRevision

ASK_AGAIN = 0.25  # seconds after which etcd is asked anew how far it has come; twice as many each time


class EtcdHistory:
    """Goes from `revision`, up to which everything has been sent, to where the cache's history takes over."""

    def __init__(self, endpoint: Endpoint, view: View, revision: int, deadline: float) -> None:
        self.revision = revision
        self.over = False  # whether the deadline has passed or the server stops
        self._endpoint, self._view, self._deadline = endpoint, view, deadline
        self._ask = ASK_AGAIN

    async def chunks(self) -> AsyncIterator[bytes]:
        """The events until `revision` is in the cache's history, or until it is `over`. Raises Compacted."""
        while not self.over:
            try:
                async for chunk in self._attempt():
                    yield chunk
                return
            except Unavailable:
                await self._pause()

    async def _attempt(self) -> AsyncIterator[bytes]:
        prefix = self._view.prefix
        end = prefix[:-1] + bytes([prefix[-1] + 1])
        source = self._endpoint.store.client.watch(
            prefix, end, start_revision=self.revision + 1, prev_kv=True, own_stream=True
        )
        step: asyncio.Future[WatchBatch] | None = None
        try:
            while not self.over:
                if step is None:
                    step = asyncio.ensure_future(anext(source))
                if not await self._done(step):
                    await source.request_progress()
                    continue
                batch, step = step.result(), None
                if batch.events:
                    for start in range(0, len(batch.events), PART):
                        part = batch.events[start : start + PART]
                        changes = [_change(self._endpoint, event) for event in part]
                        await self._endpoint.versions.all(versions_in(changes))
                        yield self._view.encode(changes)
                elif not self._endpoint.services.feed.progress_trusted:
                    continue
                self.revision = batch.revision
                if await self._met():
                    return
        finally:
            if step is not None:
                step.cancel()
            await source.cancel()

    async def _done(self, step: asyncio.Future[WatchBatch]) -> bool:
        """Waits for a batch; False when etcd is to be asked for progress, or it is over."""
        seconds = max(0.0, self._deadline - time.monotonic())
        if self._endpoint.services.feed.progress_trusted:
            seconds, self._ask = min(seconds, self._ask), self._ask * 2
        stop = asyncio.ensure_future(self._endpoint.services.stopping.wait())
        try:
            await asyncio.wait((step, stop), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
        self.over = time.monotonic() >= self._deadline or self._endpoint.services.stopping.is_set()
        return step.done() and not self.over

    async def _met(self) -> bool:
        """Whether the cache's history has everything after `revision`."""
        if self.revision < self._endpoint.cache.history.start:
            return False
        try:
            return await self._endpoint.store.reads.not_older_than(self.revision)
        except (TooLargeRevision, StorageError):
            return False

    async def _pause(self) -> None:
        """Lets etcd come back."""
        try:
            async with asyncio.timeout(RETRY):
                await self._endpoint.services.stopping.wait()
        except TimeoutError:
            self.over = time.monotonic() >= self._deadline
        else:
            self.over = True


def _change(endpoint: Endpoint, event: Event) -> Change:
    """Raises Compacted when the object's previous version is gone, without which nobody can tell what has changed."""
    cache, kv, before = endpoint.cache, event.kv, event.prev_kv
    if event.type != DELETE and kv.version == 1:
        entry = cache.entry(kv.key, kv.value, kv.mod_revision)
        return Change(ChangeType.ADDED, kv.mod_revision, entry, None, isinstance(entry, CorruptEntry))
    if before is None:
        raise Compacted(kv.mod_revision, kv.mod_revision)
    previous = cache.entry(before.key, before.value, before.mod_revision)
    if event.type == DELETE:
        corrupt = isinstance(previous, CorruptEntry)
        return Change(ChangeType.DELETED, kv.mod_revision, previous.at(kv.mod_revision), previous, corrupt)
    entry = cache.entry(kv.key, kv.value, kv.mod_revision)
    corrupt = isinstance(entry, CorruptEntry) or isinstance(previous, CorruptEntry)
    return Change(ChangeType.MODIFIED, kv.mod_revision, entry, previous, corrupt)
