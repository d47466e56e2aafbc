"""Reading again what could not be read because a service did not answer, such as the one that decrypts.

Versions of objects that can be read by then take the place of those that could not, in the caches, in their histories
and in what is read of etcd's history. So nothing is loaded anew, no watch ends, and requests that wait go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from storage.cache import ResourceCache
from storage.catching_up import Pasts
from storage.entry import Entry, is_awaited
from storage.etcd.transforming import Transformer
from storage.time_slice import TimeSlice
from storage.watch_cache import WatchCache

log = logging.getLogger(__name__)


class Rereading:
    """What is awaited of one etcd. `passes` counts how often all of it was read again."""

    def __init__(self, cache: WatchCache, pasts: Pasts, transformer: Transformer) -> None:
        self._cache, self._pasts, self._transformer = cache, pasts, transformer
        self.passes = 0
        self._running: asyncio.Task[None] | None = None
        self._again = False
        self._passed = asyncio.Event()

    def service_is_back(self) -> None:
        """The service answers again: reads what is awaited, and has those go on who wait for it."""
        self._again = True
        if self._running is None or self._running.done():
            self._running = asyncio.get_running_loop().create_task(self._run(), name="reading again")

    def passed(self) -> None:
        """What was awaited may be readable now: those who wait look again."""
        self.passes += 1
        passed, self._passed = self._passed, asyncio.Event()
        passed.set()

    async def after(self, passes: int) -> None:
        """Waits until all was read again once more than so often."""
        while self.passes <= passes:
            await self._passed.wait()

    async def _run(self) -> None:
        while self._again:
            self._again = False
            try:
                await self._read()
            except Exception:
                log.exception("what could not be decrypted for the time being could not be read again")
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
            log.info("values that could not be decrypted for the time being can be read", extra={"number": number})

    async def _read_again(self, resource: ResourceCache, versions: Iterable[Entry]) -> dict[Entry, Entry]:
        """Those of some versions that can be read by now, or never, by what they were."""
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
