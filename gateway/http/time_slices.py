"""Time slices on the event loop: of all long work of a process, one step is done in each of the loop's iterations.

So other requests wait for one step at most, however many requests have long work.
"""

from __future__ import annotations

import asyncio
from collections import deque


class _Turns:
    """First come, first served."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False

    async def next(self) -> None:
        """Returns when it is the caller's turn: for some milliseconds, until it awaits something."""
        if self._taken:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():
                    self._pass_on()
                raise
        self._taken = True
        try:
            await asyncio.sleep(0)
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._taken = False


next_turn = _Turns().next
