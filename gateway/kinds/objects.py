"""Looks up objects by GroupVersionResource, in that version, from the watch cache.

A custom kind is found as long as it is served. Returned objects are shared and must not be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from gateway.jsontypes import JsonObject, loads
from gateway.kinds.identity import GroupVersion, GroupVersionResource
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from storage.cache import ResourceCache
from storage.entry import PARSED_SIZE, Entry
from storage.store import EtcdStore
from storage.time_slice import TimeSlice

Labels = dict[str, str]
T = TypeVar("T")
_MOST_PLACES = 1000  # a limit is needed since CRDs come and go


class NotServed(LookupError):
    """The resource is not served."""

    def __init__(self, gvr: GroupVersionResource) -> None:
        super().__init__(f"{gvr.group_resource} is not served in {gvr.version}")
        self.gvr = gvr


class _Place(NamedTuple):
    """A served resource, its key in the registry, and the etcd prefix, cache and store of its objects."""

    key: tuple[str, str, str, str]
    resource: Resource
    prefix: str
    namespaced: bool
    cache: ResourceCache | None
    store: EtcdStore


class Objects:
    """Reads the objects of a registry's resources."""

    __slots__ = ("_apart", "_places", "_registry", "_root", "_store")

    def __init__(
        self, registry: Registry, store: EtcdStore, etcd_prefix: str, apart: Mapping[str, EtcdStore] | None = None
    ) -> None:
        """`apart` has the stores of resources in other etcds, by storage prefix."""
        self._apart = apart or {}
        self._registry, self._store, self._root = registry, store, f"{etcd_prefix}/"
        self._places: dict[GroupVersionResource, _Place] = {}

    def resource(self, gvr: GroupVersionResource) -> Resource:
        """The served resource. Raises NotServed."""
        return self._place(gvr).resource

    def _place(self, gvr: GroupVersionResource) -> _Place:
        """Where the objects of a resource are; cached as long as the same `Resource` is served. Raises NotServed."""
        resources, known = self._registry.resources, self._places.get(gvr)
        if known is not None and resources.get(known.key) is known.resource:
            cache = known.cache
            if cache is None or not cache.closed:
                return known
        key = (*gvr, "")
        served = resources.get(key)
        if served is None or not served.storage_prefix:
            self._places.pop(gvr, None)
            raise NotServed(gvr)
        if len(self._places) >= _MOST_PLACES:
            self._places.clear()
        prefix = f"{self._root}{served.storage_prefix}/"
        store = self._apart.get(served.storage_prefix, self._store)
        cache = store.cache.of_key(f"{prefix}x".encode())
        found = _Place(key, served, prefix, served.namespaced, cache, store)
        if cache is not None:  # without a cache it is not remembered, since the cache may start soon
            self._places[gvr] = found
        return found

    async def get(
        self, gvr: GroupVersionResource, namespace: str, name: str, *, live: bool = False
    ) -> JsonObject | None:
        """An object; None if it does not exist. With `live` it is read from etcd, else only if the cache lacks it.

        Raises NotServed, ConversionFailed, ValueError if there is no conversion, CorruptObject, Unavailable.
        """
        _, resource, prefix, namespaced, _, store = self._place(gvr)
        key = (f"{prefix}{namespace}/{name}" if namespaced else prefix + name).encode()
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
        """A cached object in its storage version; None if it is not cached or not readable. Raises NotServed."""
        _, _, prefix, namespaced, cache, store = self._place(gvr)
        key = (f"{prefix}{namespace}/{name}" if namespaced else prefix + name).encode()
        entry = store.cached_entry(key) if cache is None else cache.get(key)
        readable = None if entry is None else entry.readable
        return None if readable is None else readable.parsed()

    async def select(
        self, gvr: GroupVersionResource, namespace: str = "", matches: Callable[[Labels], bool] | None = None
    ) -> list[JsonObject]:
        """The cached objects of a namespace ("": of all), in key order, whose labels match.

        For an unreadable object its last readable version counts. Raises NotServed, ConversionFailed, ValueError if
        there is no conversion.
        """
        resource = self.resource(gvr)
        entries: Sequence[Entry] = self.readable(gvr, namespace)
        labels_and_fields_of = resource.model.labels_and_fields_of
        found, piece = list[JsonObject](), TimeSlice()
        for entry in entries:
            if piece.over():
                await piece.next()
            if matches is None or matches(entry.labels_and_fields(labels_and_fields_of).labels):
                found.append(await _in_version(entry, resource))
        return found

    def stored(self, gvr: GroupVersionResource, namespace: str = "") -> list[JsonObject]:
        """The readable cached objects of a namespace ("": of all), in their storage version. Raises NotServed."""
        entries = self.entries(gvr, namespace)
        return [found.parsed() for entry in entries if (found := entry.readable) is not None] if entries else []

    def entries(self, gvr: GroupVersionResource, namespace: str = "") -> Sequence[Entry]:
        """The cache's entries of a namespace ("": of all), unparsed; some may not be readable. Raises NotServed."""
        _, _, prefix, namespaced, cache, store = self._place(gvr)
        if namespace and namespaced:
            if cache is not None:
                return cache.of_namespace(namespace)
            prefix = f"{prefix}{namespace}/"
        elif cache is not None and not cache:  # the usual case for kinds that admission plug-ins look up
            return ()
        return store.cached_entries(prefix.encode())

    def found(self, gvr: GroupVersionResource, find: Callable[[Sequence[Entry]], T]) -> T:
        """The result of `find` for all readable entries of a resource; computed once for each state of the cache.

        `find` must depend on the entries only. Raises NotServed, and what `find` raises.
        """
        cache = self._place(gvr).cache
        if cache is None:
            return find(self.readable(gvr))
        memo: dict[object, Any] = cache.memo
        if find in memo:
            known: T = memo[find]
            return known
        made = memo[find] = find(self.readable(gvr))
        return made

    def readable(self, gvr: GroupVersionResource, namespace: str = "") -> Sequence[Entry]:
        """The readable entries of a namespace ("": of all), unparsed. Raises NotServed."""
        entries = self.entries(gvr, namespace)
        return [found for entry in entries if (found := entry.readable) is not None] if entries else entries


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
