"""CustomResourceDefinitions that clients may see as Established before this process serves them.

Another process may write the condition Established. A client that reads it from this process must be able to use the
kind here. So requests for unknown resources wait until all announced CRDs are served, at most one second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gateway.jsontypes import JsonObject

ANNOUNCEMENT_TIMEOUT = 1.0  # seconds


class Announced:
    """The CRDs that are Established but not served yet. `is_told` returns whether all changes of CRDs have arrived."""

    def __init__(self, is_told: Callable[[], bool]) -> None:
        self._is_told = is_told
        self._waiting: dict[str, int] = {}  # by name: the number of the CRD's last change
        self._arrivals = 0
        self._none = asyncio.Event()

    def __bool__(self) -> bool:
        return bool(self._waiting) or not self._is_told()

    def heard(self, name: str, definition: JsonObject | None) -> None:
        """Notes that a CRD has changed, or was deleted (`definition` is None)."""
        from gateway.customresources.definition import serves  # a server without CRDs does not need the module

        if definition is not None and serves(definition):
            self._arrivals += 1
            self._waiting[name] = self._arrivals
        else:
            self._waiting.pop(name, None)
        self.wake()

    def of(self, name: str) -> int:
        """The number of the last change of a CRD that is announced; 0 if the CRD is not announced."""
        return self._waiting.get(name, 0)

    def served(self, name: str, arrival: int) -> None:
        """Ends the announcement of a CRD that is served or cannot be. `arrival` is from `of`: later changes stay."""
        if arrival and self._waiting.get(name) == arrival:
            del self._waiting[name]
            self.wake()

    def wake(self) -> None:
        """Wakes the waiting requests if no CRD is announced any more."""
        if not self:
            self._none.set()

    async def over(self) -> None:
        """Waits until no CRD is announced any more, at most one second."""
        if not self:
            return
        self._none.clear()
        try:
            async with asyncio.timeout(ANNOUNCEMENT_TIMEOUT):
                await self._none.wait()
        except TimeoutError:
            return
