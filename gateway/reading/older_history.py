"""What a watcher missed that the cache no longer has: out of etcd's own history, until the two meet.

410 Gone is answered only when etcd itself has compacted what comes next.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from gateway.endpoints.endpoint import Endpoint
from gateway.reading.view import PART, View, versions_in
from storage.entry import Entry
from storage.errors import StorageError, Unavailable
from storage.etcd import KeyValue, WatchBatch
from storage.feed import RETRY, parts
from storage.reads import TooLargeRevision
from storage.seeding import change_of

ASK_AGAIN = 0.25  # seconds after which etcd is asked anew how far it has come; twice as many each time
MAX_ASK = 10.0


class EtcdHistory:
    """Goes from `revision`, up to which everything has been sent, to where the cache's history takes over."""

    def __init__(self, endpoint: Endpoint, view: View, revision: int, deadline: float) -> None:
        self.revision = revision
        self.over = False  # whether the deadline has passed or the server stops
        self._endpoint, self._view, self._deadline = endpoint, view, deadline
        self._ask = ASK_AGAIN
        self._trusted = False  # whether the progress that the source's member tells can be relied on

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
            await source.start()
            self._trusted, self._ask = await source.progress_correct(), ASK_AGAIN
            while not self.over:
                if step is None:
                    step = asyncio.ensure_future(anext(source))
                if not await self._done(step):
                    await source.request_progress()
                    continue
                batch, step, self._ask = step.result(), None, ASK_AGAIN
                if batch.events:
                    for part in parts(batch.events, PART):
                        changes = [change_of(event, self._entry) for event in part]
                        await self._endpoint.versions.all(versions_in(changes))
                        yield self._view.encode(changes)
                elif not self._trusted:
                    continue
                self.revision = batch.revision
                if await self._met():
                    return
        finally:
            if step is not None:
                step.cancel()
            await source.cancel()

    def _entry(self, kv: KeyValue) -> Entry:
        return self._endpoint.cache.entry(kv.key, kv.value, kv.mod_revision)

    async def _done(self, step: asyncio.Future[WatchBatch]) -> bool:
        """Waits for a batch; False when etcd is to be asked for progress, or it is over."""
        seconds = max(0.0, self._deadline - time.monotonic())
        if self._trusted:
            seconds, self._ask = min(seconds, self._ask), min(self._ask * 2, MAX_ASK)
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
