"""Detects a watch stream that brings nothing though etcd has changed, and starts it anew at another member.

A member that is stopped, cut off or defragmenting leaves its connections open, and the stream only stays quiet. So the
member is asked for its status while the stream is quiet. If it does not answer in time, or answers and does not bring
what etcd has, the stream starts anew at the next member.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from storage.errors import StorageError, Unavailable
from storage.watch_cache import WatchCache

LOOK = 1.0  # seconds between looks where there are several members
LOOK_ALONE = 3.0
PROBE = 2.0  # seconds; half of it for the first member that is asked
PATIENCE = 2.0  # seconds that a stream may be behind; twice as long after each one that brought nothing
MAX_PATIENCE = 60.0


class Watched(Protocol):
    """A watch that may have to start anew."""

    @property
    def is_elsewhere(self) -> bool: ...
    def fail(self, error: Unavailable, /) -> None: ...


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

    async def guard(self, watch: Watched) -> None:
        """Fails the watch when it is to start anew. Runs until then, or until it is cancelled."""
        self._behind_since = None
        while True:
            await asyncio.sleep(self._look)
            if watch.is_elsewhere or not await self._moves():
                self._patience = min(self._patience * 2, MAX_PATIENCE)
                watch.fail(Unavailable("the watch stream of this etcd member lacks changes that etcd has"))
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
