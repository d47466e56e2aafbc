"""Closes connections without requests for long.

Each connection has one timer, not one for each request: when it fires too early, it is set again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class IdleConnection:
    """The idle time of one connection. `since` is when it became idle, by the loop's clock; None while it is busy."""

    __slots__ = ("_loop", "_seconds", "_timer", "since")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop, self._seconds = loop, seconds
        self._timer: asyncio.TimerHandle | None = None
        self.since: float | None = None

    def begin(self, over: Callable[[], None]) -> None:
        """The connection is idle from now on, until `since` is set to None; `over` is called after `seconds` of it."""
        self.since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._look, over)

    def end(self) -> None:
        """Stops the timer."""
        self.since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, over: Callable[[], None]) -> None:
        self._timer = None
        if self.since is None:
            return  # the next `begin` sets the timer
        left = self.since + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look, over)
        else:
            over()
