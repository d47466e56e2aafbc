"""The watch caches of all resources: one for each storage prefix, shared by all versions of a resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gateway.http.request_info import RequestInfo
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.kinds.stored_head import head_of
from gateway.release.gates import SHARDS
from storage.adoption import register, renew, unregister
from storage.cache import ResourceCache
from storage.entry import ResourceSpec
from storage.etcd import EtcdClient
from storage.watch_cache import WatchCache

_IN_FORCE = frozenset({"admissionregistration.k8s.io", "rbac.authorization.k8s.io"})
"""The groups whose objects decide about the next request: a write of them is in force when it is answered."""

_DECIDING = _IN_FORCE | {"apiextensions.k8s.io", "apiregistration.k8s.io", "flowcontrol.apiserver.k8s.io"}
_DECIDING_TOO = frozenset({("", "namespaces"), ("", "services"), ("", "resourcequotas"), ("", "limitranges")})
"""The groups, and other resources, that are needed to authorize, queue, route and admit requests."""


class Caches:
    """Registers resources in the watch cache: first all of a registry, later others while the feed runs."""

    def __init__(
        self, registry: Registry, cache: WatchCache, client: EtcdClient, apart: Mapping[str, WatchCache] | None = None
    ) -> None:
        """Must be made before the feed runs. `apart` has the caches of resources in other etcds, by storage prefix."""
        elsewhere = apart or {}
        self._registry, self.cache, self._client = registry, cache, client
        self._sharded = registry.release.gates.enabled(SHARDS)
        self._by_prefix: dict[str, ResourceCache] = {}
        for resource in registry.resources.values():
            prefix = _prefix_of(resource)
            if prefix and prefix not in self._by_prefix:
                self._by_prefix[prefix] = elsewhere.get(prefix, cache).register(self._spec(resource))

    def of(self, group: str, version: str, resource: str) -> ResourceCache:
        """The cache of a resource. Raises KeyError if the resource is not served or not stored."""
        return self._by_prefix[self._registry.resources[group, version, resource, ""].storage_prefix]

    def at(self, prefix: str) -> ResourceCache | None:
        """The cache of a storage prefix; None without one."""
        return self._by_prefix.get(prefix)

    def every(self) -> Iterable[tuple[Resource, ResourceCache]]:
        """Each cache once, with one of its resources."""
        seen: set[str] = set()
        for resource in self._registry.resources.values():
            prefix = _prefix_of(resource)
            if prefix and prefix not in seen:
                seen.add(prefix)
                yield resource, self._by_prefix[prefix]

    def size(self, info: RequestInfo) -> tuple[int, int]:
        """The number of objects of a request's resource, and an estimate of their bytes; (0, 0) if it is not served."""
        served = self._registry.resources.get((info.group, info.version, info.resource, ""))
        cache = self._by_prefix.get(served.storage_prefix) if served is not None and served.storage_prefix else None
        count = len(cache) if cache is not None else 0
        if cache is None or not count:
            return 0, 0
        some = [cache.slice(index, index + 1)[0] for index in (0, count // 2, count - 1)]
        return count, sum(entry.size for entry in some) * count // len(some)

    async def adopt(self, resource: Resource) -> None:
        """Registers a resource while the feed runs. Raises Unavailable."""
        prefix = _prefix_of(resource)
        if prefix and prefix not in self._by_prefix:
            self._by_prefix[prefix] = await register(self.cache, self._client, self._spec(resource))

    async def renewed(self, new: Iterable[Resource], change: Callable[[], None]) -> bool:
        """Replaces the cache of a new resource if its objects are decoded differently now, as after a change of a CRD's
        schema. Calls `change` in the same turn of the loop. Returns whether it did so.

        If it raises Unavailable, nothing has changed.
        """
        for resource in new:
            prefix = resource.storage_prefix
            cache = self._by_prefix.get(prefix)
            if cache is not None and cache.spec.canonicalise is not resource.model.canonicalise:

                def put(made: ResourceCache, prefix: str = prefix) -> None:
                    self._by_prefix[prefix] = made
                    change()

                await renew(self.cache, self._client, cache, self._spec(resource), put)
                return True
        return False

    def let_go(self, prefixes: set[str]) -> None:
        """Removes the caches of `prefixes` that no served resource needs."""
        for prefix in prefixes:
            cache = None if self._registry.stores(prefix) else self._by_prefix.pop(prefix, None)
            if cache is not None:
                unregister(self.cache, cache)

    def _spec(self, resource: Resource) -> ResourceSpec:
        model = resource.model
        labels_and_fields_of = model.labels_and_fields_of
        if self._sharded:
            from gateway.kinds.uid_fields import with_uid

            labels_and_fields_of = with_uid(labels_and_fields_of)
        heads = [head_of(resource.kind, version.api_version) for version in model.versions]
        return ResourceSpec(
            prefix=self.cache.root + resource.storage_prefix.encode() + b"/",
            head=head_of(resource.kind, resource.storage_version),
            canonicalise=model.canonicalise,
            labels_and_fields_of=labels_and_fields_of,
            other_heads=tuple(heads) if model.written_as_served else (),
            group_resource=(resource.group, resource.resource),
            trusts_marks=not model.written_as_served,
            awaited=resource.group in _IN_FORCE,
            outdated=model.outdated,
        )


def deciding(registry: Registry, root: bytes) -> list[bytes]:
    """The etcd prefixes of resources that are needed to handle requests. A start with many objects loads them first."""
    found = {
        _prefix_of(each): None
        for each in registry.resources.values()
        if each.group in _DECIDING or (each.group, each.resource) in _DECIDING_TOO
    }
    return [root + prefix.encode() + b"/" for prefix in found if prefix]


def _prefix_of(resource: Resource) -> str:
    """The storage prefix of a resource; "" for a subresource and for a resource that is not stored."""
    return "" if resource.subresource else resource.storage_prefix
