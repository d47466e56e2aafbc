"""What is waited for etcd is counted for who asks, and for nobody else."""

from __future__ import annotations

import asyncio

from storage.timing import Waited, counted, counted_until_done

PAUSE = 0.01


@counted
async def wait(answer: str) -> str:
    await asyncio.sleep(PAUSE)
    return answer


async def test_waits_of_a_task_and_of_those_it_starts_are_counted() -> None:
    async def one() -> Waited:
        waited = Waited.begin()
        assert await wait("a") == "a"
        await asyncio.create_task(wait("b"))
        return waited

    async def other() -> Waited:
        return Waited.begin()

    first, second = await asyncio.gather(asyncio.create_task(one()), asyncio.create_task(other()))
    assert first.seconds >= 2 * PAUSE * 0.9
    assert second.seconds == 0
    assert await wait("nobody asks") == "nobody asks"


async def test_waits_for_a_future_are_counted_once_it_is_done() -> None:
    waited = Waited.begin()
    future = counted_until_done(asyncio.get_running_loop().create_future())
    asyncio.get_running_loop().call_later(PAUSE, future.set_result, "done")
    assert await future == "done"
    assert waited.seconds >= PAUSE * 0.9
