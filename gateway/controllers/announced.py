"""Which CustomResourceDefinitions clients can see to be Established before this process serves them.

Another process may give a CRD the condition, and this one hear of it with the CRD or shortly after. Whoever has seen
the condition here can use the kind here: requests for what is not served wait for it, for a second at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gateway.jsontypes import JsonObject

PATIENCE = 1.0  # seconds


class Announced:
    """The CRDs that are announced and not served. `is_told` says whether all changes of CRDs have come here."""

    def __init__(self, is_told: Callable[[], bool]) -> None:
        self._is_told = is_told
        self._waiting: dict[str, JsonObject] = {}  # by name, as it was when it was heard of
        self._none = asyncio.Event()

    def __bool__(self) -> bool:
        return bool(self._waiting) or not self._is_told()

    def heard(self, name: str, definition: JsonObject | None) -> None:
        """A CRD has changed; None where it is gone."""
        from gateway.customresources.definition import serves  # a server without CRDs does not need it

        if definition is not None and serves(definition):
            self._waiting[name] = definition
        else:
            self._waiting.pop(name, None)
        self.settled()

    def of(self, name: str) -> JsonObject | None:
        """What is to be served of a CRD."""
        return self._waiting.get(name)

    def served(self, name: str, definition: JsonObject | None) -> None:
        """What was to be served of a CRD is served, or cannot be; what was heard since then still waits."""
        if definition is not None and self._waiting.get(name) is definition:
            del self._waiting[name]
            self.settled()

    def settled(self) -> None:
        """Lets go on who waits, if nothing is left to wait for."""
        if not self:
            self._none.set()

    async def over(self) -> None:
        """Waits until there are none, for a second at most."""
        if not self:
            return
        self._none.clear()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._none.wait()
        except TimeoutError:
            return
