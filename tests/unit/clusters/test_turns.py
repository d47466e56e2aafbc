"""However many requests of one control plane come at once, another one's waits for few of them."""

from __future__ import annotations

import asyncio

import pytest

from gateway.clusters.turns import RequestTurns
from gateway.flowcontrol.level import Refused

FLOOD = 200


async def test_others_wait_for_few_of_a_flood() -> None:
    busy, other = RequestTurns(), RequestTurns()
    done: list[str] = []

    async def request(turns: RequestTurns, name: str) -> None:
        for _ in range(2):  # of a closed loop: the next one comes when the first one is answered
            turn = turns.take()
            if turn is not None:
                await turn
            done.append(name)
            await asyncio.sleep(0)

    flood = [asyncio.create_task(request(busy, "busy")) for _ in range(FLOOD)]
    await asyncio.sleep(0)
    before = len(done)
    await request(other, "other")
    assert len(done) - before <= 6, "of the flood, one begins in each turn of the loop"
    await asyncio.gather(*flood)
    assert done.count("busy") == 2 * FLOOD


async def test_they_begin_in_the_order_in_which_they_came() -> None:
    turns, begun = RequestTurns(), list[int]()

    async def request(number: int) -> None:
        turn = turns.take()
        if turn is not None:
            await turn
        begun.append(number)

    tasks = [asyncio.create_task(request(number)) for number in range(10)]
    await asyncio.sleep(0)
    tasks[4].cancel()
    await asyncio.wait(tasks)
    assert begun == [0, 1, 2, 3, 5, 6, 7, 8, 9]


async def test_too_many_that_wait_are_refused() -> None:
    turns = RequestTurns()
    turns.most = 2
    assert turns.take() is None
    waiting = [turns.take(), turns.take()]
    with pytest.raises(Refused):
        turns.take()
    for each in waiting:
        assert each is not None
        await each
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert turns.take() is None, "all have begun"
