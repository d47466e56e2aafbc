"""The time of a wait is added to the request that waits, and to no other."""

from __future__ import annotations

import asyncio

from storage.consistency import ConsistentReads
from storage.instruments.trace import Times, current
from storage.metrics import measured
from storage.watch_cache import WatchCache

PAUSE = 0.01  # what is waited for here takes so long


async def wait(answer: str) -> str:
    return await measured("get", ("", "pods"), asyncio.sleep(PAUSE, answer))


def begin() -> Times:
    times = Times(100.0)
    current.set(times)
    return times


async def test_waits_of_a_task_and_of_those_it_starts_are_counted() -> None:
    async def one() -> Times:
        times = begin()
        assert await wait("a") == "a"
        await asyncio.create_task(wait("b"))
        return times

    async def other() -> Times:
        return begin()

    first, second = await asyncio.gather(asyncio.create_task(one()), asyncio.create_task(other()))
    assert first.seconds("etcd") >= 2 * PAUSE * 0.9
    assert first.seconds("webhook") == second.seconds("etcd") == 0
    assert await wait("nobody asks") == "nobody asks"


async def test_waits_for_a_probe_are_counted_once_it_is_answered() -> None:
    async def probe() -> int:
        await asyncio.sleep(PAUSE)
        return 0

    async def progress() -> bool:
        return False

    times = begin()
    assert await ConsistentReads(WatchCache(b"/"), probe, progress).fresh()
    assert times.seconds("etcd") >= PAUSE * 0.9


def test_what_comes_several_times_is_added_up() -> None:
    times = begin()
    times.took("verb", 100.0, 100.25)
    times.took("verb", 101.0, 101.5)
    assert times.seconds("verb") == 0.75
