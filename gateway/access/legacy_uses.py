"""The last use of legacy tokens: their secrets get a label with the day, by which unused ones are cleaned up (page
"Managing Service Accounts", "Auto-generated legacy ServiceAccount token clean up").
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from gateway.jsontypes import JsonObject

LAST_USED = "kubernetes.io/legacy-token-last-used"


class LegacyUses:
    """Takes note of uses; `next` gives the secrets that are to be labelled, each once."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], None] = {}
        self._some = asyncio.Event()

    def note(self, namespace: str, name: str, labels: JsonObject) -> None:
        """Takes note that the token of a secret was used, unless its labels say so already."""
        if not is_labelled(labels):
            self._waiting[namespace, name] = None
            self._some.set()

    async def next(self) -> tuple[str, str]:
        """Namespace and name of a secret whose label is behind, once there is one."""
        while not self._waiting:
            self._some.clear()
            await self._some.wait()
        return self._waiting.popitem()[0]


def is_labelled(labels: JsonObject) -> bool:
    """Whether labels tell of today, or of tomorrow where clocks differ."""
    now = datetime.now(UTC)
    return labels.get(LAST_USED) in (f"{now:%Y-%m-%d}", f"{now + timedelta(days=1):%Y-%m-%d}")


def labelled(obj: JsonObject) -> bool:
    """Labels a secret with today; whether that changed anything."""
    labels = obj["metadata"].setdefault("labels", {})
    if is_labelled(labels):
        return False
    labels[LAST_USED] = f"{datetime.now(UTC):%Y-%m-%d}"
    return True
