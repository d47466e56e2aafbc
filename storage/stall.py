"""Detects a watch that brings nothing though etcd has changed, so that it starts again at another member.

If a member is stopped, cut off or defragmenting, its connections stay open, and the watch is only quiet. So while the
watch is quiet, the feed probes etcd's revision. If etcd has changes that the watch does not bring in time, the watch
fails, and starts again at the next member.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from storage.errors import StorageError, Unavailable
from storage.watch_cache import WatchCache

LOOK = 1.0  # seconds between checks if etcd has several members
LOOK_ALONE = 3.0  # seconds between checks if it has one
PROBE = 2.0  # seconds; half of it for the first member that is asked
STALL_TIMEOUT = 2.0  # seconds that a watch may be behind; doubled after each watch that brought nothing
MAX_STALL_TIMEOUT = 60.0


class Watched(Protocol):
    """A watch that can be ended with an error, so that it starts again."""

    @property
    def is_elsewhere(self) -> bool: ...
    def fail(self, error: Unavailable, /) -> None: ...


class Stall:
    """Supervises the watches of one feed, one after the other."""

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
        self._patience = STALL_TIMEOUT
        self._seen = -1  # the revision reached at the last check
        self._behind_since: float | None = None

    async def guard(self, watch: Watched) -> None:
        """Ends the watch with Unavailable when it stalls. Runs until then, or until it is cancelled."""
        self._behind_since = None
        while True:
            await asyncio.sleep(self._look)
            if watch.is_elsewhere or not await self._moves():
                self._patience = min(self._patience * 2, MAX_STALL_TIMEOUT)
                watch.fail(Unavailable("the watch stream of this etcd member lacks changes that etcd has"))
                return

    async def _moves(self) -> bool:
        """Whether the watch brings etcd's changes, or is not behind for too long yet. True if etcd does not answer."""
        reached = self._cache.reached
        if reached != self._seen:
            self._seen, self._behind_since, self._patience = reached, None, STALL_TIMEOUT
            if self._known() <= reached:
                return True
        try:
            await self._probe(PROBE)
        except StorageError:
            return True  # nothing proves that the watch stalls
        if self._known() <= self._cache.reached or self._cache.reached != reached:
            self._behind_since = None
            return True
        await self._request_progress()
        now = time.monotonic()
        if self._behind_since is None:
            self._behind_since = now
        return now - self._behind_since < self._patience
