"""Gives other requests a turn on the event loop between the policies of one write."""

from __future__ import annotations

import asyncio
import time

_LONG = 0.005  # seconds that one write may keep the loop to itself


class EvaluationTurns:
    """Measures for how long a write has had the event loop to itself."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since = time.monotonic()

    async def take(self) -> None:
        """Gives other tasks a turn if the write has had the loop for too long. Call it before each piece of work."""
        if time.monotonic() - self._since > _LONG:
            await asyncio.sleep(0)
            self._since = time.monotonic()
