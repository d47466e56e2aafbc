"""Splits long work on the event loop into slices, so that other tasks run in between."""

from __future__ import annotations

import asyncio
import time

SECONDS = 0.005  # how long work holds the loop by default


class TimeSlice:
    """One slice of work. When `over` is true, the work awaits `next`, which lets other tasks run."""

    __slots__ = ("_seconds", "_until")

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds, self._until = seconds, time.monotonic() + seconds

    def over(self) -> bool:
        """Whether the slice has used its time."""
        return time.monotonic() > self._until

    async def next(self) -> None:
        """Lets the other tasks run once, then begins a new slice."""
        await asyncio.sleep(0)
        self._until = time.monotonic() + self._seconds
