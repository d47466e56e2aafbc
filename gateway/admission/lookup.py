"""Other objects that an admission plug-in needs: read from the watch cache, asked from etcd when it has none."""

from __future__ import annotations

from gateway.jsontypes import JsonObject, loads
from storage.store import EtcdStore

SERVICE_NAME = "kubernetes.io/service-name"  # a label of EndpointSlices


class Lookup:
    """Reads objects by their storage prefix ("namespaces", "priorityclasses"), in their storage version.

    What the cache has is parsed once for each version of an object.
    """

    __slots__ = ("_prefix", "_store")

    def __init__(self, store: EtcdStore, etcd_prefix: str) -> None:
        self._store, self._prefix = store, etcd_prefix

    def _key(self, storage_prefix: str, namespace: str, name: str) -> bytes:
        path = f"{namespace}/{name}" if namespace else name
        return f"{self._prefix}/{storage_prefix}/{path}".encode()

    async def get(self, storage_prefix: str, namespace: str, name: str, *, live: bool = False) -> JsonObject | None:
        """An object, not to be changed; `live` asks etcd at once. A missing one is asked for in etcd too."""
        key = self._key(storage_prefix, namespace, name)
        store = self._store
        resource = None if live else store.cache.of_key(key)
        entry = None if resource is None else resource.get(key)
        if entry is not None:
            return entry.parsed()
        stored = await store.get(key)
        found: JsonObject | None = None if stored is None else loads(stored.value)
        return found

    def cached(self, storage_prefix: str, namespace: str, name: str) -> JsonObject | None:
        """An object that the watch cache has, not to be changed."""
        entry = self._store.cached_entry(self._key(storage_prefix, namespace, name))
        return None if entry is None or entry.readable is None else entry.parsed()

    def service(self, namespace: str, name: str) -> JsonObject | None:
        """A service that the watch cache has."""
        return self.cached("services/specs", namespace, name)

    def endpoint_slices(self, namespace: str, service: str) -> list[JsonObject]:
        """The EndpointSlices of a service that the watch cache has."""
        found = self.cached_list(f"endpointslices/{namespace}")
        return [each for each in found if (each["metadata"].get("labels") or {}).get(SERVICE_NAME) == service]

    def cached_list(self, storage_prefix: str) -> list[JsonObject]:
        """All objects of a resource that the watch cache has, in key order, not to be changed."""
        entries = self._store.cached_entries(f"{self._prefix}/{storage_prefix}/".encode())
        return [entry.parsed() for entry in entries]

    async def list(self, storage_prefix: str, namespace: str = "") -> list[JsonObject]:
        """All objects below a prefix, most recent, in key order."""
        path = f"{namespace}/" if namespace else ""
        stored = await self._store.list(f"{self._prefix}/{storage_prefix}/{path}".encode())
        return [loads(item.value) for item in stored]
