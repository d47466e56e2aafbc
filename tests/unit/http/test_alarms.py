"""Many waiters share one timer: each is woken in time, at any distance, and none blocks the loop."""

from __future__ import annotations

import asyncio
from time import monotonic

import pytest

from gateway.http import alarms
from gateway.http.alarms import TICK, Alarms


class Waits:
    """Waits until a time, as a watch does. If the alarm rings too early, it sets the alarm again."""

    def __init__(self, among: Alarms, when: float) -> None:
        self._among, self.when, self.rang = among, when, 0
        self.woken = asyncio.get_running_loop().create_future()
        self.tick = among.set(when, self)

    def ring(self) -> None:
        self.rang += 1
        if monotonic() < self.when:
            self.tick = self._among.set(self.when, self)
        elif not self.woken.done():
            self.woken.set_result(monotonic() - self.when)


async def test_each_is_woken_at_its_time_and_never_before() -> None:
    among, now = Alarms(), monotonic()
    waiting = [Waits(among, now + after) for after in (0.35, 0.05, 0.2, 0.0, 0.35, 0.21)]
    await in_time(waiting)


async def in_time(waiting: list[Waits]) -> None:
    """All are woken, none before its time, and none after a timer of the loop that is two ticks later."""
    await asyncio.sleep(max(each.when for each in waiting) + 2 * TICK - monotonic())
    for _ in range(100):  # turns of the loop: on a busy machine both are late, and what rings early is set again
        if all(each.woken.done() for each in waiting):
            break
        await asyncio.sleep(0)
    assert min(each.woken.result() for each in waiting) >= 0


async def test_who_does_not_wait_any_more_is_not_woken() -> None:
    among, now = Alarms(), monotonic()
    one, other = Waits(among, now + 0.05), Waits(among, now + 0.05)
    among.unset(one.tick, one)
    await other.woken
    assert (one.rang, other.rang) == (0, 1)


async def test_what_is_far_away_rings_early_with_others_and_again_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarms, "FAR", 4)
    now = monotonic()
    monkeypatch.setattr(alarms, "monotonic", lambda: now)  # while they are set, however long that takes
    among, early = Alarms(), (int(now / TICK) // 4 + 3) * 4
    waiting = [Waits(among, (early + 2.5) * TICK + each / 10_000) for each in range(100)]
    assert {each.tick for each in waiting} == {early}
    monkeypatch.setattr(alarms, "monotonic", monotonic)
    await in_time(waiting)
    assert {each.rang for each in waiting} <= {1, 2}


async def test_thousands_of_one_moment_take_several_turns_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarms, "SLICE", 0.0)
    among, when, turns = Alarms(), monotonic() + 0.01, 0
    waiting = [Waits(among, when) for _ in range(50)]
    while not all(each.woken.done() for each in waiting):
        await asyncio.sleep(0)
        turns += any(each.woken.done() for each in waiting)
    assert turns >= 50
