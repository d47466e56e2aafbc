"""Counts the changes that were passed to the controllers. A controller can wait until all were passed."""

from __future__ import annotations

import asyncio
from collections import deque


class DeliveryCount:
    """Counts the expected and the passed changes. Each term as leader has a new object."""

    __slots__ = ("_told", "_waiters", "expected")

    def __init__(self) -> None:
        self.expected = 0  # changes that the observer received from the watch caches
        self._told = 0
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()

    def count_passed(self, number: int) -> None:
        """Adds `number` changes that were passed to all controllers."""
        self._told += number
        while self._waiters and self._waiters[0][0] <= self._told:
            future = self._waiters.popleft()[1]
            if not future.done():
                future.set_result(None)

    async def reached(self) -> None:
        """Waits until all changes that the observer has received were passed."""
        if self._told < self.expected:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((self.expected, future))
            await future
