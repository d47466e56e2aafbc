"""Reads values again that could not be read because a service, such as a KMS, did not answer.

The versions that are readable now replace the unreadable ones: in the caches, in their histories and in the windows of
storage/catching_up.py. So nothing is loaded again, no watch ends, and waiting requests go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from storage.cache import ResourceCache
from storage.catching_up import Pasts
from storage.entry import Entry, is_awaited
from storage.etcd.transformer import Transformer
from storage.time_slice import TimeSlice
from storage.watch_cache import WatchCache

log = logging.getLogger(__name__)


class Rereading:
    """The unreadable values of one etcd. `passes` counts how often all of them were read again."""

    def __init__(self, cache: WatchCache, pasts: Pasts, transformer: Transformer) -> None:
        self._cache, self._pasts, self._transformer = cache, pasts, transformer
        self.passes = 0
        self._running: asyncio.Task[None] | None = None
        self._again = False
        self._passed = asyncio.Event()

    def service_is_back(self) -> None:
        """Called when the service answers again: reads the unreadable values again and wakes the callers of `after`."""
        self._again = True
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._run(), name="reading again")

    def passed(self) -> None:
        """Counts a pass and wakes the callers of `after`: they look at the values again."""
        self.passes += 1
        passed, self._passed = self._passed, asyncio.Event()
        passed.set()

    async def after(self, passes: int) -> None:
        """Waits until `passes` is greater than the given number."""
        while self.passes <= passes:
            await self._passed.wait()

    async def _run(self) -> None:
        while self._again:
            self._again = False
            try:
                await self._read()
            except Exception:
                log.exception("values that could not be decrypted could not be read again")
            self.passed()

    async def _read(self) -> None:
        number = 0
        for resource in list(self._cache):
            if versions := resource.awaited():
                read = await self._read_again(resource, versions)
                resource.exchange(read)
                number += len(read)
            await asyncio.sleep(0)
        for past in self._pasts:
            if versions := past.window.awaited():
                past.exchange(await self._read_again(past.resource, versions))
        if number:
            log.info("values that could not be decrypted before can be read now", extra={"number": number})

    async def _read_again(self, resource: ResourceCache, versions: Iterable[Entry]) -> dict[Entry, Entry]:
        """The new entries, by the old ones, of the versions that are no longer awaited: readable now, or corrupt."""
        read: dict[Entry, Entry] = {}
        piece = TimeSlice()
        for version in sorted(versions, key=lambda each: each.revision):
            value = await self._transformer.into(version.key, bytes(version.stored().raw))
            found = resource.entry(version.key, value, version.revision)
            if not is_awaited(found):
                read[version] = found
            if piece.over():
                await piece.next()
        return read
