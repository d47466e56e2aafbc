"""The interface by which authentication and checks of rights read objects."""

from __future__ import annotations

from typing import Protocol

from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource


class ObjectReader(Protocol):
    """Reads objects by resource, namespace and name (`gateway.kinds.objects`)."""

    async def get(self, gvr: GroupVersionResource, namespace: str, name: str) -> JsonObject | None:
        """The object; None if it does not exist. Raises StorageError."""
        ...
