"""How far controllers have been told what the caches have: some must know all of it before they do what they do."""

from __future__ import annotations

import asyncio
from collections import deque


class Telling:
    """Counts what is to be told and what has been; one for each time that the controllers run."""

    __slots__ = ("_told", "_waiters", "expected")

    def __init__(self) -> None:
        self.expected = 0  # changes that the caches have told the observer
        self._told = 0
        self._waiters: deque[tuple[int, asyncio.Future[None]]] = deque()

    def told(self, number: int) -> None:
        """So many more have been told to all controllers."""
        self._told += number
        while self._waiters and self._waiters[0][0] <= self._told:
            future = self._waiters.popleft()[1]
            if not future.done():
                future.set_result(None)

    async def reached(self) -> None:
        """Waits until everything has been told that the caches have now."""
        if self._told < self.expected:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append((self.expected, future))
            await future
