"""Finds out that a stream brings nothing though something has happened, and has it start anew elsewhere.

A member that is stopped, cut off or defragmenting leaves its connections open. Nothing on the stream tells, so etcd is
asked beside it while it is quiet: a member that does not answer in time is left for the next one, and the stream goes
with it; one that answers, but does not bring what etcd has, is left too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from storage.cache import WatchCache
from storage.errors import StorageError, Unavailable
from storage.etcd import Watch

LOOK = 1.0  # seconds between looks where there are several members
LOOK_ALONE = 3.0
PROBE = 2.0  # seconds; half of it for the first member that is asked
PATIENCE = 2.0  # seconds that a stream may be behind; twice as long after each one that brought nothing
MAX_PATIENCE = 60.0


class Stall:
    """Watches over the streams of one feed, one after the other."""

    def __init__(
        self,
        cache: WatchCache,
        probe: Callable[[float], Awaitable[int]],
        request_progress: Callable[[], Awaitable[bool]],
        known: Callable[[], int],
        members: int,
    ) -> None:
        self._cache, self._probe, self._request_progress, self._known = cache, probe, request_progress, known
        self._look = LOOK if members > 1 else LOOK_ALONE
        self._patience = PATIENCE
        self._seen = -1  # what was reached at the last look
        self._behind_since: float | None = None

    async def guard(self, watch: Watch) -> None:
        """Fails the watch when it is to start anew. Runs until then, or until it is cancelled."""
        self._behind_since = None
        while True:
            await asyncio.sleep(self._look)
            if watch.is_elsewhere or not await self._moves():
                self._patience = min(self._patience * 2, MAX_PATIENCE)
                watch.fail(Unavailable("the member of the stream does not bring what has happened"))
                return

    async def _moves(self) -> bool:
        """Whether the stream brings what there is, as far as can be told."""
        reached = self._cache.reached
        if reached != self._seen:
            self._seen, self._behind_since, self._patience = reached, None, PATIENCE
            if self._known() <= reached:
                return True
        try:
            await self._probe(PROBE)
        except StorageError:
            return True  # it is not known that it does not
        if self._known() <= self._cache.reached or self._cache.reached != reached:
            self._behind_since = None
            return True
        await self._request_progress()
        now = time.monotonic()
        if self._behind_since is None:
            self._behind_since = now
        return now - self._behind_since < self._patience
