"""Reads changes for a watch from etcd if the watch cache no longer has them, until the cache has the rest.

A watch gets 410 only if etcd itself has compacted the revision.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TypeVar

from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.versions import NotConverted
from gateway.reading.readability import until_readable
from gateway.reading.view import WatchView
from storage.catching_up import Reader
from storage.entry import Entry
from storage.errors import AwaitedObject, Compacted, StorageError
from storage.reads import TooLargeRevision

T = TypeVar("T")
Convert = Callable[[Sequence[Entry]], Awaitable[None]]  # converts entries to the version that is watched


class EtcdHistory:
    """Reads etcd's history after `revision`, up to which all has been sent, until the cache's history has the rest."""

    def __init__(self, endpoint: Endpoint, view: WatchView, revision: int, deadline: float, convert: Convert) -> None:
        self.revision = revision
        self.over = False  # whether the deadline has passed or the server stops
        self._endpoint, self._view, self._deadline, self._convert = endpoint, view, deadline, convert

    async def chunks(self) -> AsyncIterator[bytes]:
        """The events, until the cache's history contains `revision`, or `over` is True.

        Raises Compacted, Overrun, StorageError.
        """
        endpoint, view = self._endpoint, self._view
        async with AsyncExitStack() as stack:
            following = endpoint.database.pasts.following(endpoint.cache, self.revision, view.interest)
            reader = await self._unless_over(stack.enter_async_context(following))
            while reader is not None:
                more = await self._unless_over(reader.next())
                if more:
                    window = reader.past.window
                    if endpoint.versions.converts:
                        await self._convert(view.next(reader.position, window))
                    try:
                        chunk, reader.position = view.chunk(reader.position, window)
                    except NotConverted:  # new changes have come meanwhile
                        continue
                    except AwaitedObject:
                        await until_readable(endpoint, self._deadline)
                        continue
                    if chunk:
                        yield chunk
                elif more is None or await self._met(reader):
                    return

    async def _unless_over(self, awaited: Awaitable[T]) -> T | None:
        """The result of `awaited`; None if the deadline passes or the server stops first."""
        step = asyncio.ensure_future(awaited)
        stop = asyncio.ensure_future(self._endpoint.services.stopping.wait())
        try:
            seconds = max(0.0, self._deadline - time.monotonic())
            await asyncio.wait((step, stop), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if step.done():
                return step.result()
            self.over = True
            return None
        finally:
            step.cancel()
            stop.cancel()

    async def _met(self, reader: Reader) -> bool:
        """Whether the cache's history has all changes after those that were sent."""
        self.revision = reader.revision
        if self.revision < self._endpoint.cache.history.start:
            return False
        try:
            return await self._endpoint.store.reads.not_older_than(self.revision)
        except (TooLargeRevision, StorageError):
            return False


def too_old(endpoint: Endpoint, error: Compacted) -> str:
    """kube-apiserver's message for a compacted revision: of its watch cache, or of etcd for events, which have no
    watch cache.
    """
    if endpoint.expiry is not None or not error.revision or not error.compact_revision:
        return "The resourceVersion for the provided watch is too old."
    return f"too old resource version: {error.revision} ({error.compact_revision})"


async def reached(endpoint: Endpoint, revision: int, deadline: float) -> bool:
    """Waits until the watch cache has a revision that etcd has. Returns False at the deadline, or if the server stops.

    Raises Compacted for a revision that etcd does not have. It was lost, for example because etcd was restored from a
    snapshot, and the next write with that number will be another one.
    """
    if await endpoint.database.feed.probe() < revision:
        raise Compacted(0, revision)
    await endpoint.database.feed.request_progress()
    reach = endpoint.store.cache.reach(revision)
    stop = asyncio.ensure_future(endpoint.services.stopping.wait())
    try:
        seconds = max(0.0, deadline - time.monotonic())
        await asyncio.wait((reach, stop), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return reach.done()
    finally:
        reach.cancel()
        stop.cancel()
