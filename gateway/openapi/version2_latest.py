"""The latest OpenAPI v2 document, as JSON and as protobuf. A thread makes it at the first request after a change."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from gateway.kinds.registry import Registry
from gateway.openapi.others import Others

if TYPE_CHECKING:  # imported at the first request
    from gateway.openapi.version2 import Version2


class LatestVersion2:
    """The document of a registry."""

    def __init__(self, registry: Registry, others: Others | None = None) -> None:
        self._registry, self._others = registry, others
        self._changes = 0
        self._made: dict[bool, bytes] = {}  # by whether it is protobuf; of the present state
        self._tag = ""
        self._maker: Version2 | None = None
        self._making = asyncio.Lock()

    def forget(self) -> None:
        """Drops the documents, because the served resources have changed."""
        self._changes += 1
        self._made = {}

    async def document(self, protobuf: bool) -> tuple[bytes, str]:
        """The document and its ETag. As in kube-apiserver, JSON and protobuf have the same ETag."""
        from gateway.openapi.version2 import Version2

        async with self._making:
            maker = self._maker = self._maker or Version2(self._registry)
            changes, made, served = self._changes, dict(self._made), maker.served()
            if False not in made:
                made[False] = await asyncio.to_thread(maker.document, served, others=self._others)
                self._tag = (await asyncio.to_thread(hashlib.sha512, made[False])).hexdigest().upper()
            if protobuf not in made:
                made[True] = await asyncio.to_thread(maker.document, served, protobuf=True, others=self._others)
            if changes == self._changes:
                self._made = made
            return made[protobuf], self._tag
