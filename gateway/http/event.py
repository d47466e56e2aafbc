"""asyncio's Event in a tenth of its memory: a connection has some, and of ten thousand connections most only wait."""

from __future__ import annotations

import asyncio


class Event:
    """Something that happens, for which tasks wait; mostly one."""

    __slots__ = ("_happened", "_waiters")

    def __init__(self) -> None:
        self._happened = False
        self._waiters: tuple[asyncio.Future[None], ...] = ()

    def is_set(self) -> bool:
        """Whether it has happened."""
        return self._happened

    def set(self) -> None:
        """It has happened: those who wait go on, and nobody has to wait until it is cleared."""
        if not self._happened:
            self._happened = True
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_result(None)

    def clear(self) -> None:
        """It has not happened again since."""
        self._happened = False

    async def wait(self) -> None:
        """Waits until it has happened."""
        if self._happened:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiters += (waiter,)
        try:
            await waiter
        finally:
            self._waiters = tuple(other for other in self._waiters if other is not waiter)
