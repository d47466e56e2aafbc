"""Controllers pause while the event loop is busy, and lose no work by that."""

from __future__ import annotations

import asyncio
import time

import pytest

from gateway import courtesy
from gateway.courtesy import BUSY, give_way


async def test_who_got_its_turn_after_much_work_stays_away_as_long_again() -> None:
    done = list[float]()

    def work() -> None:
        until = time.thread_time() + 4 * BUSY
        while time.thread_time() < until:
            pass
        done.append(time.monotonic())

    asyncio.get_running_loop().call_soon(work)
    await give_way()
    assert time.monotonic() - done[0] >= 4 * BUSY * 0.9


async def test_who_got_its_turn_at_once_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courtesy, "BUSY", 60.0)  # the collector of garbage may come
    turns = list[int]()

    async def count() -> None:
        while True:
            await asyncio.sleep(0)
            turns.append(1)

    counting = asyncio.create_task(count())
    await asyncio.sleep(0)
    for _ in range(10):
        await give_way()
    counting.cancel()
    assert len(turns) <= 10, "one round of the loop each"
