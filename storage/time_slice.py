"""Long work on the event loop, in pieces between which others get their turn."""

from __future__ import annotations

import asyncio
import time

SECONDS = 0.005  # that work may hold the loop by default


class TimeSlice:
    """A piece of work: `over` says that it has taken its time, and `next` begins another after everybody's turn."""

    __slots__ = ("_seconds", "_until")

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds, self._until = seconds, time.monotonic() + seconds

    def over(self) -> bool:
        """Whether others are to have their turn."""
        return time.monotonic() > self._until

    async def next(self) -> None:
        """Lets all others have a turn."""
        await asyncio.sleep(0)
        self._until = time.monotonic() + self._seconds
