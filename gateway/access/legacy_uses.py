"""Records the last use of legacy tokens: their secrets get a label with the date. A controller deletes secrets that are
unused for long (page "Managing Service Accounts", "Auto-generated legacy ServiceAccount token clean up").
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from gateway.jsontypes import JsonObject

LAST_USED = "kubernetes.io/legacy-token-last-used"


class LegacyUses:
    """Collects the secrets whose tokens were used; `next` returns one of those still to be labelled."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], None] = {}
        self._some = asyncio.Event()

    def note(self, namespace: str, name: str, labels: JsonObject) -> None:
        """Records that the token of a secret was used, unless its labels have today's date already."""
        if not is_labelled(labels):
            self._waiting[namespace, name] = None
            self._some.set()

    async def next(self) -> tuple[str, str]:
        """Waits for a secret whose label is out of date; returns its namespace and name."""
        while not self._waiting:
            self._some.clear()
            await self._some.wait()
        return self._waiting.popitem()[0]


def is_labelled(labels: JsonObject) -> bool:
    """Whether the label has today's date in UTC, or tomorrow's, since clocks of servers differ."""
    now = datetime.now(UTC)
    return labels.get(LAST_USED) in (f"{now:%Y-%m-%d}", f"{now + timedelta(days=1):%Y-%m-%d}")


def labelled(obj: JsonObject) -> bool:
    """Labels a secret, in place, with today's date; returns whether that changed anything."""
    labels = obj["metadata"].setdefault("labels", {})
    if is_labelled(labels):
        return False
    labels[LAST_USED] = f"{datetime.now(UTC):%Y-%m-%d}"
    return True
