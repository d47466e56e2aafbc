"""Consistent reads from the cache: concurrent requests share one probe of etcd's revision.

A read must see all writes that were acknowledged before it started. So it asks etcd for the current revision with a
linearizable read (a probe), and waits until the feed has reached that revision (KEP-2340). A request never joins a
probe that was already sent. So at most `PROBES` shared probes are in flight, while the next one gathers requests.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine

from storage.errors import StorageError, Unavailable
from storage.instruments.trace import Times, current
from storage.watch_cache import WatchCache

PROBES = 2  # shared probes in flight: requests that come during one need not wait for its end
ALONE = 4  # requests that have a probe of their own at the same time
APART = 0.01  # seconds between the starts of two such probes
EVENTS_WAIT = 0.1  # seconds for events to bring the feed to the probed revision before progress is asked for
STUCK = 1.0  # seconds without probes after the feed failed to reach a revision: reads go to etcd
PROGRESS_WAIT = 2.0  # seconds in which progress is requested again and again
PROGRESS_AGAIN = 0.25  # seconds between requests: etcd drops one that comes while the watch is behind


_Asked = tuple[asyncio.Future[bool], Times | None, float]
"""A waiting request: the future of its answer, its `Times`, and when it began."""


class ConsistentReads:
    """Makes a request wait until the cache is at least as new as etcd was when the request arrived."""

    def __init__(
        self,
        cache: WatchCache,
        probe: Callable[[], Awaitable[int]],
        request_progress: Callable[[], Awaitable[bool]],
    ) -> None:
        """`probe` returns etcd's revision. `request_progress` requests a progress notification; False if it can't."""
        self._cache, self._probe, self._request_progress = cache, probe, request_progress
        self._filling: list[_Asked] = []
        self._running = 0  # probes
        self._gathering = False  # whether one of them is not sent yet, and requests may join it
        self._alone = 0  # requests that have a probe of their own now
        self._alone_at = -APART  # when the last of these began, by the monotonic clock
        self._tasks: set[asyncio.Task[None]] = set()
        self._stuck_at = -1  # the revision that the cache had when the last wait for a newer one failed
        self._stuck_until = 0.0  # by the monotonic clock; until then no probe is made

    async def probe(self) -> int:
        """etcd's revision now. Raises Unavailable, DeadlineExceeded."""
        return await self._probe()

    async def fresh(self) -> bool:
        """Waits until the cache is fresh. False if the feed can't reach etcd's revision: read etcd directly then.

        The first request in `APART` seconds has a probe of its own, sent and answered in its own task. A shared probe
        takes three turns of the event loop, each of which takes milliseconds under load. Raises what the probe raises
        (Unavailable, DeadlineExceeded).
        """
        began = time.monotonic()
        if self._cache.reached == self._stuck_at and began < self._stuck_until:
            return False
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        asked = future, current.get(), began
        if self._alone >= ALONE or began - self._alone_at < APART:
            self._share(asked)
            return await future
        self._alone_at = began
        self._alone += 1
        try:
            await self._serve([asked])
            return await future
        finally:
            self._alone -= 1

    def _share(self, asked: _Asked) -> None:
        """Adds a request to the next shared probe."""
        self._filling.append(asked)
        if self._running < PROBES and not self._gathering:
            self._running += 1
            self._gathering = True
            self._start(self._run())

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self) -> None:
        batch: list[_Asked] = []
        try:
            while True:
                await asyncio.sleep(0)  # lets the requests that have arrived together join this probe
                batch, self._filling = self._filling, []
                self._gathering = False
                await self._serve(batch)
                if self._gathering or not self._filling:
                    return
                self._gathering = True
        except BaseException:
            _fail(batch + self._filling, Unavailable("etcd's revision could not be asked for"))
            self._filling, self._gathering = [], False
            raise
        finally:
            self._running -= 1

    async def _serve(self, batch: list[_Asked]) -> None:
        try:
            revision = await self._probe()
        except StorageError as error:
            _fail(batch, error)
            return
        if self._cache.reached >= revision:
            _answer(batch, True)
        else:
            self._start(self._settle(batch, revision))

    async def _settle(self, batch: list[_Asked], revision: int) -> None:
        try:
            _answer(batch, await self.catch_up(revision))
        except BaseException:
            _fail(batch, Unavailable("the feed could not be waited for"))
            raise

    async def catch_up(self, revision: int) -> bool:
        """Waits for the cache to reach a revision that etcd has, and requests progress if needed; False if it doesn't.

        Writes outside the prefix bring no event, only progress shows them. If progress can't be requested, only the
        first request waits; the others get False at once until the next event.
        """
        stuck = self._cache.reached == self._stuck_at and not await self._request_progress()
        if not stuck:
            if await self.wait_for(revision, EVENTS_WAIT):
                return True
            end = time.monotonic() + PROGRESS_WAIT
            while time.monotonic() < end and await self._request_progress():
                if await self.wait_for(revision, PROGRESS_AGAIN):
                    return True
        self._stuck_at, self._stuck_until = self._cache.reached, time.monotonic() + STUCK
        return False

    async def wait_for(self, revision: int, seconds: float) -> bool:
        """Waits at most `seconds` for the cache to reach a revision; whether it has."""
        future = self._cache.reach(revision)
        if future.done():
            return True
        done, _ = await asyncio.wait([future], timeout=seconds)
        future.cancel()
        return bool(done)


def _answer(batch: list[_Asked], reached: bool) -> None:
    now = time.monotonic()
    for future, times, began in batch:
        if not future.done():
            future.set_result(reached)
        if times is not None:
            times.took("etcd", began, now)


def _fail(batch: list[_Asked], error: StorageError) -> None:
    now = time.monotonic()
    for future, times, began in batch:
        if not future.done():
            future.set_exception(error)
        if times is not None:
            times.took("etcd", began, now)
