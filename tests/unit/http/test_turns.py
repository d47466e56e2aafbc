"""Turns on the event loop: one step of long work in each round, in the order of asking."""

from __future__ import annotations

import asyncio

from gateway.http.time_slices import next_turn


async def _worker(name: int, steps: int, done: list[int]) -> None:
    for _ in range(steps):
        await next_turn()
        done.append(name)


def test_everybody_gets_a_turn_in_order() -> None:
    async def run() -> list[int]:
        done: list[int] = []
        await asyncio.gather(*(_worker(name, 3, done) for name in range(4)))
        return done

    assert asyncio.run(run()) == [0, 1, 2, 3] * 3


def test_others_run_between_two_steps() -> None:
    async def run() -> int:
        done: list[int] = []
        workers = asyncio.gather(*(_worker(name, 20, done) for name in range(10)))
        most = before = 0
        while not workers.done():
            await asyncio.sleep(0)
            most, before = max(most, len(done) - before), len(done)
        return most

    assert asyncio.run(run()) == 1


def test_whoever_gives_up_stops_nobody() -> None:
    async def run() -> list[int]:
        done: list[int] = []
        tasks = [asyncio.ensure_future(_worker(name, 2, done)) for name in range(6)]
        await asyncio.sleep(0)
        for task in tasks[:5:2]:
            task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)
        await next_turn()
        return done

    assert set(asyncio.run(run())) == {1, 3, 5}
