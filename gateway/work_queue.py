"""A work queue of keys. A key is in it at most once. A key whose work fails is added again, with backoff.

It works as client-go's workqueue, and has metrics with the same names.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterator
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from gateway.courtesy import give_way
from gateway.pieces import is_ending, survive_async
from gateway.task_group import TaskGroup
from storage.instruments import BETA, exponential, histogram

logger = logging.getLogger(__name__)

BASE_DELAY, MAX_DELAY = 0.005, 1000.0  # seconds; the delay doubles with each failure of a key
BUCKETS = exponential(1e-8, 10, 10)  # seconds

K = TypeVar("K", bound=Hashable)


WAITED = histogram(
    "workqueue_queue_duration_seconds", "How long an item stays in the queue.", "name", buckets=BUCKETS, level=BETA
)
WORKED = histogram(
    "workqueue_work_duration_seconds", "How long processing an item takes.", "name", buckets=BUCKETS, level=BETA
)


class WorkQueue(Generic[K]):
    """Keys in the order in which they were added. Not thread-safe: use it on one event loop."""

    def __init__(self, name: str, *, max_delay: float = MAX_DELAY) -> None:
        self.name = name
        self.adds = self.retries = 0
        self.waited, self.worked = WAITED.labels(name), WORKED.labels(name)
        self._max_delay = max_delay
        self._waiting: OrderedDict[K, float] = OrderedDict()  # key -> when it was added
        self._working: dict[K, float] = {}
        self._again: dict[K, None] = {}  # added while they were worked on
        self._failures: dict[K, int] = {}
        self._timers: dict[K, asyncio.TimerHandle] = {}
        self._getting: list[asyncio.Future[None]] = []  # of workers without a key; an Event takes 700 bytes

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def at_rest(self) -> bool:
        """Whether no key waits or is worked on. Delayed keys may exist."""
        return not (self._waiting or self._working)

    @property
    def idle(self) -> bool:
        """Whether no key waits, is worked on, or is delayed."""
        return not (self._waiting or self._working or self._timers)

    def add(self, key: K) -> None:
        """Adds a key without delay. A key that is worked on now is added again when its work ends."""
        if key in self._waiting or key in self._again:
            return
        self.adds += 1
        if key in self._working:
            self._again[key] = None
            return
        self._waiting[key] = time.monotonic()
        self._wake()

    def add_after(self, key: K, seconds: float) -> None:
        """Adds a key after a delay. Of several delays for a key, the earliest end counts."""
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= loop.time() + seconds:
                return
            timer.cancel()
        self._timers[key] = loop.call_later(seconds, self._due, key)

    def add_failed(self, key: K) -> None:
        """Adds a key again, after a delay that grows with its failures."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retries += 1
        self.add_after(key, min(BASE_DELAY * 2 ** min(failures, 30), self._max_delay))

    def forget(self, key: K) -> None:
        """Resets the failures of a key after a success."""
        self._failures.pop(key, None)

    async def get(self) -> K:
        """Waits for the next key. No other worker gets this key until `done`."""
        while not self._waiting:
            arrival = asyncio.get_running_loop().create_future()
            self._getting.append(arrival)
            try:
                await arrival
            finally:
                self._getting.remove(arrival)
        key, since = self._waiting.popitem(last=False)
        now = time.monotonic()
        self.waited.observe(now - since)
        self._working[key] = now
        return key

    def done(self, key: K) -> None:
        """Ends the work on a key."""
        self.worked.observe(time.monotonic() - self._working.pop(key))
        if key in self._again:
            del self._again[key]
            self._waiting[key] = time.monotonic()
            self._wake()

    def hurry(self) -> None:
        """Adds all delayed keys now."""
        for key in list(self._timers):
            self._timers[key].cancel()
            self._due(key)

    def close(self) -> None:
        """Drops all delayed keys."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def under_way(self) -> Iterator[float]:
        """For each key that is worked on, the seconds since its work began."""
        now = time.monotonic()
        return (now - since for since in self._working.values())

    def _wake(self) -> None:
        for arrival in self._getting:
            if not arrival.done():
                arrival.set_result(None)

    def _due(self, key: K) -> None:
        self._timers.pop(key, None)
        self.add(key)


class Work(NamedTuple):
    """A queue, the function that reconciles its keys, and the number of concurrent workers."""

    queue: WorkQueue[Any]
    reconcile: Callable[[Any], Awaitable[None]]
    workers: int


async def work(queue: WorkQueue[K], reconcile: Callable[[K], Awaitable[None]], workers: int) -> None:
    """Runs workers that call `reconcile` for each key, until cancelled. If it raises, the key is added again."""

    async def worker() -> None:
        while not is_ending():
            key = await queue.get()
            try:
                await survive_async(partial(_reconciled, queue, reconcile), key, partial(_failed, queue), None)
            finally:
                queue.done(key)

    try:
        if workers == 1:  # a task fewer
            return await worker()
        async with TaskGroup() as group:
            for _ in range(workers):
                group.create_task(worker())
    finally:
        queue.close()


async def _reconciled(queue: WorkQueue[K], reconcile: Callable[[K], Awaitable[None]], key: K) -> None:
    await give_way()  # otherwise a worker might never yield to the event loop
    await reconcile(key)
    queue.forget(key)


def _failed(queue: WorkQueue[K], key: K, error: Exception) -> None:
    queue.add_failed(key)
    logger.info("retrying", extra={"queue": queue.name, "key": str(key), "error": str(error)})
