"""The latest OpenAPI v2 document, as JSON and as protobuf. A thread makes it at the first request after a change."""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.kinds.registry import Registry
from gateway.openapi.others import ExtensionDocuments

if TYPE_CHECKING:  # imported at the first request
    from gateway.openapi.version2 import Version2


_LARGE = 8 << 20  # bytes from which on a document is kept compressed: to a sixth or less


@dataclass(frozen=True, slots=True)
class _Kept:
    """A document, which is compressed if it is large."""

    content: bytes
    packed: bool

    @classmethod
    def of(cls, document: bytes) -> _Kept:
        """Keeps a document."""
        large = len(document) > _LARGE
        return cls(zlib.compress(document, 1) if large else document, large)

    def document(self) -> bytes:
        """The document."""
        return zlib.decompress(self.content) if self.packed else self.content


class LatestVersion2:
    """The document of a registry."""

    def __init__(self, registry: Registry, others: ExtensionDocuments | None = None) -> None:
        self._registry, self._others = registry, others
        self._changes = 0
        self._made: dict[bool, _Kept] = {}  # by whether it is protobuf; of the present state
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
            for each in (False, protobuf):
                if each not in made:
                    fresh = await asyncio.to_thread(maker.document, served, each, self._others)
                    made[each] = await asyncio.to_thread(_Kept.of, fresh)
                    if not each:
                        self._tag = (await asyncio.to_thread(hashlib.sha512, fresh)).hexdigest().upper()
            if changes == self._changes:
                self._made = made
            kept, tag = made[protobuf], self._tag
        return await asyncio.to_thread(kept.document) if kept.packed else kept.content, tag
