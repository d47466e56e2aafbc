"""Time slices on the event loop: of all long work of a process, one step is done in each of the loop's iterations.

So other requests wait for one step at most, however many requests have long work.
"""

from __future__ import annotations

import asyncio
from collections import deque

AT_ONCE = 8  # that begin in one iteration of the loop: with two, iterations cost a sixth more CPU a write


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


class Beginnings:
    """Has some of those whose work holds the loop for a millisecond or so begin in each of the loop's iterations.

    First come, first served. So what takes less, and what is nearly done, waits for a few of them and not for all that
    have come; and each iteration, which takes time itself, still serves several.
    """

    __slots__ = ("_left", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._left = AT_ONCE  # that may begin in this iteration

    def free(self) -> bool:
        """Whether the caller may begin at once; else it awaits `turn`."""
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
        """Lets the next ones begin, in the next iteration."""
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
