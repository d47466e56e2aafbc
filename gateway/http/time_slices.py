"""Time slices on the event loop: all long work of a process is done in steps, one step in each turn of the loop.

So other requests wait for at most one step, however many requests have long work.
"""

from __future__ import annotations

import asyncio
from collections import deque

AT_ONCE = 8  # writes that begin in one turn of the loop: with two, the turns cost a sixth more CPU for each write


class _Turns:
    """First come, first served."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False

    async def next(self) -> None:
        """Returns when it is the caller's turn. The caller may then work for some milliseconds until its next await."""
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


class Beginnings:
    """Limits how many tasks begin work in one turn of the event loop, each of which blocks it for about a millisecond.

    First come, first served. A task that has begun waits in each turn only for the few tasks that begin then.
    Several begin in a turn, because a turn costs time itself.
    """

    __slots__ = ("_left", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._left = AT_ONCE  # how many more may begin in this turn

    def free(self) -> bool:
        """Whether the caller may begin at once; otherwise it must await `turn`."""
        left = self._left
        if not left:
            return False
        if left == AT_ONCE:
            asyncio.get_running_loop().call_soon(self._go_on)
        self._left = left - 1
        return True

    async def turn(self) -> None:
        """Returns when the caller may begin."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    def _go_on(self) -> None:
        """Lets the next waiting tasks begin; called once in each turn of the loop."""
        waiting, left = self._waiting, AT_ONCE
        while waiting and left:
            turn = waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                left -= 1
        self._left = left
        if left != AT_ONCE:
            asyncio.get_running_loop().call_soon(self._go_on)


next_turn = _Turns().next
