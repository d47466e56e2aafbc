"""All endpoints of a process, made when they are first needed, and the one operation that replaces some of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from weakref import WeakSet

from gateway.endpoints.caches import Caches
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.hooks import WriteHooks
from gateway.endpoints.services import Services
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupResource, GroupVersionResource
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from storage.cache import ResourceCache
from storage.instruments import owners

LINGER = 1.0  # seconds that watches of what was replaced go on; kube-apiserver's

MakeHooks = Callable[["Endpoints", Resource], WriteHooks | None]
"""Makes the hooks of a resource or subresource that has some."""

CreateOwn = Callable[["Endpoints", GroupVersionResource, str, JsonObject], Awaitable[bool]]
"""Creates an object in a namespace in the server's own name; False where there is one of its name."""


@dataclass(slots=True, eq=False)
class Ending:
    """Endpoints whose watches end in a moment, where what they serve is stored, and the caches that took its place."""

    endpoints: list[Endpoint]
    prefixes: set[str]
    caches: list[ResourceCache]
    owners: set[GroupResource]  # what is counted of them goes, unless they are served again
    alarm: asyncio.TimerHandle | None = None


class Endpoints:
    """The endpoints of a registry's resources."""

    def __init__(
        self, registry: Registry, caches: Caches, services: Services, make_hooks: MakeHooks, create_own: CreateOwn
    ) -> None:
        """`make_hooks` makes the hooks of a resource that has some, `create_own` what plug-ins create."""
        self.registry, self.caches, self.services = registry, caches, services
        self._make_hooks, self._create_own = make_hooks, create_own
        self._endpoints: dict[GroupVersionResource, dict[str, Endpoint]] = {}  # of each, by subresource
        self._followed: dict[GroupVersionResource, WeakSet[Endpoint]] = {}  # were replaced, and their watches went on
        self._ending: list[Ending] = []  # those whose watches end in a moment
        self._listeners: list[Callable[[], None]] = []

    def of(self, group: str, version: str, resource: str, subresource: str = "") -> Endpoint:
        """The endpoint of what is served; raises KeyError for what is not."""
        gvr = GroupVersionResource(group, version, resource)
        made = self._endpoints.get(gvr)
        found = made.get(subresource) if made is not None else None
        if found is None:
            served = self.registry.resources[group, version, resource, subresource]
            cache = self.caches.at(served.storage_prefix) if served.storage_prefix else None
            found = Endpoint(served, self.services, self, cache)
            self._endpoints.setdefault(gvr, {})[subresource] = found
        return found

    def hooks_of(self, resource: Resource) -> WriteHooks | None:
        """What a resource allocates before a write and releases after it."""
        return self._make_hooks(self, resource)

    async def create_own(self, gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
        """Creates an object in the server's own name; False where there is one of its name.

        Raises StatusError, StorageError.
        """
        return await self._create_own(self, gvr, namespace, obj)

    def of_resource(self, resource: Resource) -> Endpoint:
        """The endpoint of a registered resource or subresource."""
        return self.of(resource.group, resource.version, resource.resource, resource.subresource)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever what is served has changed: what was remembered by path is void."""
        self._listeners.append(listener)

    def changed(self) -> None:
        """Tells the listeners: what is served has changed, here or by other servers."""
        for listener in self._listeners:
            listener()

    async def replace(self, old: Iterable[Resource], new: Iterable[Resource], *, watched_on: bool = False) -> None:
        """Serves `new` instead of `old`; either may be empty. Raises Unavailable, and then nothing has changed.

        Once the caches of new resources are complete, registry, endpoints, routes, discovery and OpenAPI change
        together, in one turn of the event loop. Watches of what was replaced are told for `LINGER` what happens, as
        they read it, and end cleanly then, so that their clients come back to what is there now; but where nothing of
        it has changed that they see they go on (`watched_on`). Requests under way are finished by the endpoint that
        began them.
        """
        old, new = list(old), list(new)
        kept = {each.gvr.group_resource for each in new}
        for group_resource in kept:
            owners.enter(("resource", *group_resource))

        def change() -> None:
            ending = [
                each
                for gvr in dict.fromkeys(each.gvr for each in (*old, *new))
                for each in self._retire(gvr, watched_on)
            ]
            self.registry.remove({each.gvr for each in old})
            self.registry.add(new)
            prefixes = {each.storage_prefix for each in (*old, *new)} - {""}
            self._end_later(ending, prefixes, {each.gvr.group_resource for each in old})
            self.changed()

        try:
            for resource in new:
                await self.caches.adopt(resource)
            if not await self.caches.renewed(new, change):
                change()
        except BaseException:
            for group_resource in kept:
                owners.leave(("resource", *group_resource))
            raise

    def _retire(self, gvr: GroupVersionResource, watched_on: bool) -> list[Endpoint]:
        """Takes the endpoints of a resource out of service; `watched_on` until those that take their place go, too.

        Gives those whose watches are to end.
        """
        retired = self._endpoints.pop(gvr, {})
        if retired:
            self._followed.setdefault(gvr, WeakSet()).update(retired.values())
        if watched_on:
            return []
        ending = list(self._followed.pop(gvr, ()))
        for endpoint in ending:
            endpoint.retired = True
        return ending

    def _end_later(self, endpoints: list[Endpoint], prefixes: set[str], old: set[GroupResource]) -> None:
        """Ends watches in a moment, and what they are told from; those that were to end before end now."""
        for earlier in [each for each in self._ending if each.prefixes & prefixes]:
            self._end(earlier)
        caches = [cache for each in prefixes if (cache := self.caches.at(each)) is not None]
        ending = Ending(endpoints, prefixes, caches, old)
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
        self.caches.let_go(ending.prefixes)
        for group_resource in ending.owners:
            owners.leave(("resource", *group_resource))
