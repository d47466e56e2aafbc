"""Takes turns between control planes: many requests of one control plane delay the others only a little.

Of each control plane, one request begins in a turn of the event loop; the others wait in the order in which they came.
"""

from __future__ import annotations

import asyncio
from collections import deque

from gateway.flowcontrol.level import Cause, Refused


class RequestTurns:
    """The requests of one control plane that are about to begin. `most` may wait; 0 is no limit."""

    def __init__(self) -> None:
        self.most = 0
        self._begun = False  # one has begun in this turn of the event loop
        self._waiting: deque[asyncio.Future[None]] = deque()

    def take(self) -> asyncio.Future[None] | None:
        """Begins a request: at once (None), or when the future is done. Raises Refused if too many wait."""
        loop = asyncio.get_running_loop()
        if not self._begun:
            self._begun = True
            loop.call_soon(self._next)
            return None
        if self.most and len(self._waiting) >= self.most:
            raise Refused(Cause.CONCURRENCY_LIMIT, retry_after=1)
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.append(future)
        return future

    def _next(self) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():  # else its request was cancelled
                future.set_result(None)
                asyncio.get_running_loop().call_soon(self._next)
                return
        self._begun = False
