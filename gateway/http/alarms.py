"""Alarms that share one timer of the event loop. A timer for each of ten thousand watches would take 0.5 kB each."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from time import monotonic
from typing import Protocol

TICK = 0.1  # seconds by which an alarm may ring late
FAR = 160  # ticks: an alarm more than twice as far away is rounded down to a multiple of this, and rings early
SLICE = 0.005  # seconds of one turn of the loop that ringing may take


class Sleeper(Protocol):
    """An object that waits for an alarm."""

    def ring(self) -> None:
        """The alarm rings, maybe early: the sleeper checks the time and sets it again. Must not raise."""
        ...


class Alarms:
    """The sleepers, by the tick at which they are woken."""

    __slots__ = ("_due", "_ringing", "_ticks", "_timer")

    def __init__(self) -> None:
        self._due: dict[int, set[Sleeper]] = {}
        self._ticks: list[int] = []  # the keys of _due, as a heap
        self._ringing = set[Sleeper]()  # sleepers that are due
        self._timer: asyncio.TimerHandle | None = None

    def set(self, when: float, sleeper: Sleeper) -> int:
        """Sets an alarm at a time of the monotonic clock, in seconds; returns the tick, which `unset` needs.

        Alarms that are far away ring early.
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
        """Cancels an alarm; `tick` is the result of `set`."""
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
