"""All endpoints of a process, made when they are first asked for, and the one operation that replaces some."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from weakref import WeakSet

from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.services import Services
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.kinds.stored_head import head_of
from storage.adoption import register, renew, unregister
from storage.cache import ResourceCache, ResourceSpec

LINGER = 1.0  # seconds that watches of what was replaced go on; kube-apiserver's

Key = tuple[str, str, str, str]


@dataclass(slots=True, eq=False)
class Ending:
    """Endpoints whose watches end in a moment, where what they serve is stored, and the caches that took its place."""

    endpoints: list[Endpoint]
    prefixes: set[str]
    caches: list[ResourceCache]
    alarm: asyncio.TimerHandle | None = None


class Endpoints:
    """The endpoints of a registry's resources."""

    def __init__(self, registry: Registry, services: Services) -> None:
        self.registry, self.services = registry, services
        self._caches: dict[str, ResourceCache] = {}  # by storage prefix
        self._endpoints: dict[Key, Endpoint] = {}
        self._followed: dict[Key, WeakSet[Endpoint]] = {}  # those that were replaced, and whose watches went on
        self._ending: list[Ending] = []  # those whose watches end in a moment
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

    def size(self, group: str, version: str, resource: str) -> tuple[int, int]:
        """How many objects there are of what is served, and about how many bytes; (0, 0) of what is not."""
        served = self.registry.resources.get((group, version, resource, ""))
        cache = self._caches.get(served.storage_prefix) if served is not None and served.storage_prefix else None
        count = len(cache) if cache is not None else 0
        if cache is None or not count:
            return 0, 0
        some = [cache.slice(index, index + 1)[0] for index in (0, count // 2, count - 1)]
        return count, sum(entry.size for entry in some) * count // len(some)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever what is served has changed: what was remembered by path is void."""
        self._listeners.append(listener)

    async def replace(self, old: Iterable[Resource], new: Iterable[Resource], *, watched_on: bool = False) -> None:
        """Serves `new` instead of `old`; either may be empty. Raises Unavailable, and then nothing has changed.

        Once the caches of new resources are complete, registry, endpoints, routes, discovery and OpenAPI change
        together, in one turn of the event loop. Watches of what was replaced are told for `LINGER` what happens, as
        they read it, and end cleanly then, so that their clients come back to what is there now; but where nothing of
        it has changed that they see they go on (`watched_on`). Requests under way are finished by the endpoint that
        began them.
        """
        old, new = list(old), list(new)

        def change() -> None:
            ending = [each for resource in (*old, *new) for each in self._retire(resource, watched_on)]
            for resource in old:
                self.registry.remove(resource.group, resource.version, resource.resource)
            self.registry.add(new)
            self._end_later(ending, {each.storage_prefix for each in (*old, *new)} - {""})
            for listener in self._listeners:
                listener()

        for resource in new:
            await self._adopt(resource)
        if not await self._renewed(new, change):
            change()

    def _retire(self, resource: Resource, watched_on: bool) -> list[Endpoint]:
        """Takes the endpoints of a resource out of service; `watched_on` until those that take their place go, too.

        Gives those whose watches are to end.
        """
        for key in [key for key in self._endpoints if key[:3] == resource.gvr]:
            self._followed.setdefault(key, WeakSet()).add(self._endpoints.pop(key))
        if watched_on:
            return []
        gone = [key for key in self._followed if key[:3] == resource.gvr]
        ending = [endpoint for key in gone for endpoint in self._followed.pop(key)]
        for endpoint in ending:
            endpoint.retired = True
        return ending

    def _end_later(self, endpoints: list[Endpoint], prefixes: set[str]) -> None:
        """Ends watches in a moment, and what they are told from; those that were to end before end now."""
        for earlier in [each for each in self._ending if each.prefixes & prefixes]:
            self._end(earlier)
        ending = Ending(endpoints, prefixes, [self._caches[each] for each in prefixes & self._caches.keys()])
        self._ending.append(ending)
        ending.alarm = asyncio.get_running_loop().call_later(LINGER, self._end, ending)

    def _end(self, ending: Ending) -> None:
        self._ending.remove(ending)
        alarm, ending.alarm = ending.alarm, None
        if alarm is not None:
            alarm.cancel()
        for endpoint in ending.endpoints:
            endpoint.end()
        for cache in ending.caches:
            cache.end_former()
        self._let_go(ending.prefixes)

    def _let_go(self, prefixes: set[str]) -> None:
        """Ends the caches that no served resource needs any more."""
        needed = {each.storage_prefix for each in self.registry.resources.values()}
        for prefix in prefixes - needed:
            cache = self._caches.pop(prefix, None)
            if cache is not None:
                unregister(self.services.store.cache, cache)

    async def _adopt(self, resource: Resource) -> None:
        """Has the watch cache keep the objects of a resource from now on."""
        prefix = resource.storage_prefix
        if prefix and not resource.subresource and prefix not in self._caches:
            store = self.services.store
            self._caches[prefix] = await register(store.cache, self.services.client, self._spec(resource))

    async def _renewed(self, new: list[Resource], change: Callable[[], None]) -> bool:
        """Has a cache made anew whose objects are read in another way now, and calls `change` with that; else False."""
        for resource in new:
            prefix, canonicalise = resource.storage_prefix, resource.model.canonicalise
            cache = self._caches.get(prefix)
            if cache is not None and cache.spec.canonicalise is not canonicalise:

                def put(made: ResourceCache, prefix: str = prefix) -> None:
                    self._caches[prefix] = made
                    change()

                await renew(self.services.store.cache, self.services.client, cache, self._spec(resource), put)
                return True
        return False

    def _keep(self, resource: Resource) -> None:
        """Has the watch cache keep the objects of a resource from its start on."""
        prefix = resource.storage_prefix
        if prefix and not resource.subresource and prefix not in self._caches:
            self._caches[prefix] = self.services.store.cache.register(self._spec(resource))

    def _spec(self, resource: Resource) -> ResourceSpec:
        model = resource.model
        heads = [head_of(resource.kind, version.api_version) for version in model.versions]
        return ResourceSpec(
            prefix=self.services.store.cache.root + resource.storage_prefix.encode() + b"/",
            head=head_of(resource.kind, resource.storage_version),
            canonicalise=model.canonicalise,
            attributes_of=model.attributes_of,
            other_heads=tuple(heads) if model.written_as_served else (),
            group_resource=(resource.group, resource.resource),
            trusts_marks=not model.written_as_served,
        )
