"""Other objects, for whoever needs to know of them: by GroupVersionResource, in that version, from the watch cache.

What is asked for may come and go: a definition's kind is found as long as it is served. Everything that comes out is
shared and not to be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gateway.jsontypes import JsonObject, loads
from gateway.kinds.identity import GroupVersion, GroupVersionResource
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from storage.entry import PARSED_SIZE, Entry
from storage.store import EtcdStore

Labels = dict[str, str]


class NotServed(LookupError):
    """There is no such resource, or not any more."""

    def __init__(self, gvr: GroupVersionResource) -> None:
        super().__init__(f"{gvr.group_resource} is not served in {gvr.version}")
        self.gvr = gvr


class Objects:
    """Reads the objects of a registry's resources."""

    __slots__ = ("_registry", "_root", "_store")

    def __init__(self, registry: Registry, store: EtcdStore, etcd_prefix: str) -> None:
        self._registry, self._store, self._root = registry, store, f"{etcd_prefix}/"

    def resource(self, gvr: GroupVersionResource) -> Resource:
        """What is served under a name. Raises NotServed."""
        found = self._registry.get(*gvr)
        if found is None or not found.storage_prefix:
            raise NotServed(gvr)
        return found

    async def get(
        self, gvr: GroupVersionResource, namespace: str, name: str, *, live: bool = False
    ) -> JsonObject | None:
        """An object, None if there is none; `live` asks etcd at once, else etcd is asked for what the cache lacks.

        Raises NotServed, ConversionFailed, ValueError where there is no conversion, CorruptObject, Unavailable.
        """
        resource, store = self.resource(gvr), self._store
        path = f"{namespace}/{name}" if resource.namespaced else name
        key = f"{self._root}{resource.storage_prefix}/{path}".encode()
        cache = None if live else store.cache.of_key(key)
        entry = None if cache is None else cache.get(key)
        if entry is not None:
            return await _in_version(entry, resource)
        stored = await store.get(key)
        if stored is None:
            return None
        obj: JsonObject = loads(stored.value)
        obj["metadata"]["resourceVersion"] = str(stored.revision)
        return await _converted(obj, resource)

    def cached(self, gvr: GroupVersionResource, namespace: str, name: str) -> JsonObject | None:
        """An object that the cache has and that can be read, in the version in which it is stored. Raises NotServed."""
        resource = self.resource(gvr)
        path = f"{namespace}/{name}" if resource.namespaced else name
        entry = self._store.cached_entry(f"{self._root}{resource.storage_prefix}/{path}".encode())
        return None if entry is None or entry.readable is None else entry.parsed()

    async def select(
        self, gvr: GroupVersionResource, namespace: str = "", matches: Callable[[Labels], bool] | None = None
    ) -> list[JsonObject]:
        """The cached objects of a namespace ("": of all), in key order, whose labels `matches` likes.

        Raises NotServed, ConversionFailed, ValueError where there is no conversion, CorruptObject.
        """
        resource = self.resource(gvr)
        entries: Sequence[Entry] = self._entries(resource, namespace)
        if matches is not None:
            attributes_of = resource.model.attributes_of
            entries = [each for each in entries if matches(each.attributes(attributes_of).labels)]
        return [await _in_version(entry, resource) for entry in entries]

    def stored(self, gvr: GroupVersionResource, namespace: str = "") -> list[JsonObject]:
        """The same of all objects, in the version in which they are stored. Raises NotServed, CorruptObject."""
        return [entry.parsed() for entry in self._entries(self.resource(gvr), namespace)]

    def entries(self, gvr: GroupVersionResource, namespace: str = "") -> list[Entry]:
        """The cache's entries of them, unparsed; some may not be readable. Raises NotServed."""
        return self._entries(self.resource(gvr), namespace)

    def _entries(self, resource: Resource, namespace: str) -> list[Entry]:
        within = f"{namespace}/" if namespace and resource.namespaced else ""
        return self._store.cached_entries(f"{self._root}{resource.storage_prefix}/{within}".encode())


async def _in_version(entry: Entry, resource: Resource) -> JsonObject:
    stored = entry.parsed()
    if stored["apiVersion"] == resource.api_version:
        return stored

    async def make(entry: Entry) -> JsonObject:
        return await _converted(stored, resource)

    made: JsonObject = await entry.made(
        ("object", resource.api_version), make, lambda obj: PARSED_SIZE * len(entry.tail)
    )
    return made


async def _converted(obj: JsonObject, resource: Resource) -> JsonObject:
    if obj["apiVersion"] == resource.api_version:
        return obj
    model, wanted = resource.model, GroupVersion(resource.group, resource.version)
    if model.convert_all is not None:
        return (await model.convert_all([obj], wanted))[0]
    return model.convert(obj, GroupVersion.parse(obj["apiVersion"]), wanted)
