"""All endpoints of a process, made when they are first asked for, and the one operation that replaces some."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.services import Services
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.kinds.storage_form import canonicaliser
from gateway.kinds.stored import head_of
from storage.cache import ResourceCache, ResourceSpec

Key = tuple[str, str, str, str]


class Endpoints:
    """The endpoints of a registry's resources."""

    def __init__(self, registry: Registry, services: Services) -> None:
        self.registry, self.services = registry, services
        self._caches: dict[str, ResourceCache] = {}  # by storage prefix
        self._endpoints: dict[Key, Endpoint] = {}
        self._listeners: list[Callable[[], None]] = []
        for resource in registry.resources.values():
            self._keep(resource)

    def of(self, group: str, version: str, resource: str, subresource: str = "") -> Endpoint:
        """The endpoint of what is served; raises KeyError for what is not."""
        key = (group, version, resource, subresource)
        found = self._endpoints.get(key)
        if found is None:
            served = self.registry.resources[key]
            cache = self._caches.get(served.storage_prefix) if served.storage_prefix else None
            found = self._endpoints[key] = Endpoint(served, self.services, self, cache)
        return found

    def of_resource(self, resource: Resource) -> Endpoint:
        """The endpoint of a registered resource or subresource."""
        return self.of(resource.group, resource.version, resource.resource, resource.subresource)

    def caches(self) -> Iterable[tuple[Resource, ResourceCache]]:
        """Each cache once, with a resource whose objects it holds."""
        seen: set[str] = set()
        for resource in self.registry.resources.values():
            prefix = resource.storage_prefix
            if prefix and not resource.subresource and prefix not in seen:
                seen.add(prefix)
                yield resource, self._caches[prefix]

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever what is served has changed: what was remembered by path is void."""
        self._listeners.append(listener)

    def replace(self, old: Iterable[Resource], new: Iterable[Resource]) -> None:
        """Serves `new` instead of `old` (either may be empty), in one turn of the event loop.

        Registry, routes, discovery and OpenAPI change together. Watches of retired endpoints end cleanly, so that
        their clients come back to the new ones; requests under way are finished by the endpoint that began them.
        """
        new, kept = list(new), set()
        for resource in new:
            kept.add(resource.storage_prefix)
            self._keep(resource)
        for resource in old:
            self._retire(resource, resource.storage_prefix in kept)
        self.registry.add(new)
        for resource in new:
            self._endpoints.pop((resource.group, resource.version, resource.resource, resource.subresource), None)
        for listener in self._listeners:
            listener()

    def _retire(self, resource: Resource, cache_stays: bool) -> None:
        for key in [key for key in self._endpoints if key[:3] == (resource.group, resource.version, resource.resource)]:
            self._endpoints.pop(key).retired = True
        self.registry.remove(resource.group, resource.version, resource.resource)
        cache = self._caches.get(resource.storage_prefix)
        if cache is None:
            return
        cache.wake()
        if not cache_stays and not any(
            each.storage_prefix == resource.storage_prefix for each in self.registry.resources.values()
        ):
            del self._caches[resource.storage_prefix]
            self.services.store.cache.unregister(cache.spec.prefix)

    def _keep(self, resource: Resource) -> None:
        """Has the watch cache keep the objects of a resource."""
        prefix = resource.storage_prefix
        if not prefix or resource.subresource or prefix in self._caches:
            return
        cache = self.services.store.cache
        self._caches[prefix] = cache.register(
            ResourceSpec(
                prefix=cache.root + prefix.encode() + b"/",
                head=head_of(resource.kind, resource.storage_version),
                canonicalise=canonicaliser(resource.kind, resource.storage_version),
                attributes_of=resource.model.attributes_of,
            )
        )
