"""Ends a connection on which no request has come for long.

There is one timer for a connection, and not one for each request: what it finds busy, it looks at again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Idling:
    """Since when a connection is idle, by the loop's clock; None while it is not. It may be so for some seconds."""

    __slots__ = ("_loop", "_seconds", "_timer", "since")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop, self._seconds = loop, seconds
        self._timer: asyncio.TimerHandle | None = None
        self.since: float | None = None

    def begin(self, over: Callable[[], None]) -> None:
        """It is idle from now on, until somebody sets `since` to None. `over` is called where that lasts too long."""
        self.since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._look, over)

    def end(self) -> None:
        """Nothing is waited for any more."""
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
