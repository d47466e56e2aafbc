"""Turns on the event loop: one step of long work in each round, in the order of the requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Any

from gateway.http.time_slices import AT_ONCE, Beginnings, next_turn
from gateway.requests.serving_stages import SHORT_QUERY, long_running, turns, wait_with_long_query


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


async def _begin(beginnings: Beginnings, name: int, done: list[int]) -> None:
    if not beginnings.free():
        await beginnings.turn()
    done.append(name)


def test_some_begin_in_each_turn_and_who_gives_up_takes_none() -> None:
    gone = range(AT_ONCE + 1, AT_ONCE + 7, 2)  # while they wait

    async def run() -> tuple[list[int], int]:
        beginnings, done = Beginnings(), list[int]()
        tasks = [asyncio.ensure_future(_begin(beginnings, name, done)) for name in range(3 * AT_ONCE)]
        for name in gone:
            asyncio.get_running_loop().call_soon(tasks[name].cancel)
        most = before = 0
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            most, before = max(most, len(done) - before), len(done)
        await asyncio.sleep(0)
        assert beginnings.free(), "nobody is left"
        return done, most

    assert asyncio.run(run()) == ([each for each in range(3 * AT_ONCE) if each not in gone], AT_ONCE)


async def test_writes_wait_for_their_turn_and_reads_do_not() -> None:
    def of(verb: str) -> Any:
        return SimpleNamespace(route=SimpleNamespace(info=SimpleNamespace(verb=verb)))

    look = turns()
    *first, last = [look(of(verb)) for verb in (("create", "patch", "delete") * AT_ONCE)[: AT_ONCE + 1]]
    assert first == [None] * AT_ONCE
    assert look(of("get")) is None and look(of("watch")) is None
    assert isinstance(last, Awaitable)
    await last


async def test_few_watches_begin_in_a_turn_and_all_are_counted_at_once() -> None:
    opened = list[object]()

    def of(verb: str) -> Any:
        route = SimpleNamespace(info=SimpleNamespace(verb=verb), measures=SimpleNamespace(long=None))
        return SimpleNamespace(route=route, request=object(), watch=None)

    count = long_running(SimpleNamespace(open=lambda request: opened.append(request)))  # type: ignore[arg-type]
    *first, last = [count(of("watch")) for _ in range(AT_ONCE + 1)]
    assert first == [None] * AT_ONCE and len(opened) == AT_ONCE + 1
    assert count(of("get")) is None
    assert isinstance(last, Awaitable)
    await last


async def test_requests_with_long_queries_go_on_in_turns_of_their_own() -> None:
    def of(length: int) -> Any:
        return SimpleNamespace(request=SimpleNamespace(query_string=b"x" * length))

    async def going_on(context: Any) -> None:
        waiting = wait_with_long_query(context)
        assert isinstance(waiting, Awaitable)
        await waiting
        begun.append(context)

    assert wait_with_long_query(of(SHORT_QUERY)) is None
    begun = list[object]()
    tasks = [asyncio.ensure_future(going_on(of(SHORT_QUERY + 1))) for _ in range(20)]
    most = before = 0
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        most, before = max(most, len(begun) - before), len(begun)
    assert (len(begun), most) == (20, 1)
