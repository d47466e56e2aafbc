"""One timer for all that wait for a time: of ten thousand watches each would have one of half a kilobyte."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from time import monotonic
from typing import Protocol

TICK = 0.1  # seconds by which an alarm may ring late
FAR = 160  # ticks: what is further away rings early, with others, and is set again
SLICE = 0.005  # seconds of a turn of the loop in which alarms ring


class Sleeper(Protocol):
    """Who is to be woken."""

    def ring(self) -> None:
        """It is time, or may be; must not raise."""
        ...


class Alarms:
    """Those who wait, by the tick in which they are woken."""

    __slots__ = ("_due", "_ringing", "_ticks", "_timer")

    def __init__(self) -> None:
        self._due: dict[int, set[Sleeper]] = {}
        self._ticks: list[int] = []  # a heap of the same
        self._ringing = set[Sleeper]()  # whose time has come
        self._timer: asyncio.TimerHandle | None = None

    def set(self, when: float, sleeper: Sleeper) -> int:
        """Has somebody woken at a time of the monotonic clock; gives what `unset` is told.

        What is far away rings early.
        """
        tick, now = -int(-when // TICK), int(monotonic() / TICK)
        if tick > now + 2 * FAR:
            tick -= tick % FAR
        sleepers = self._due.get(tick)
        if sleepers is None:
            sleepers = self._due[tick] = set()
            heappush(self._ticks, tick)
            if self._ticks[0] == tick:
                self._await_next()
        sleepers.add(sleeper)
        return tick

    def unset(self, tick: int, sleeper: Sleeper) -> None:
        """Somebody need not be woken any more."""
        self._due.get(tick, self._ringing).discard(sleeper)

    def _await_next(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        left = max(0.0, self._ticks[0] * TICK - monotonic())
        self._timer = asyncio.get_running_loop().call_later(left, self._come_due)

    def _come_due(self) -> None:
        self._timer = None
        now, rang = monotonic(), bool(self._ringing)
        while self._ticks and self._ticks[0] * TICK <= now:
            self._ringing |= self._due.pop(heappop(self._ticks))
        if self._ticks:
            self._await_next()
        if self._ringing and not rang:
            self._ring()

    def _ring(self) -> None:
        until = monotonic() + SLICE
        while self._ringing:
            self._ringing.pop().ring()
            if monotonic() > until:
                asyncio.get_running_loop().call_soon(self._ring)
                return
