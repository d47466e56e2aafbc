"""The table of all endpoints of a process, which are made at first use, and the operation that replaces some."""

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

LINGER = 1.0  # seconds that watches of a replaced endpoint continue, as in kube-apiserver

MakeHooks = Callable[["EndpointTable", Resource], WriteHooks | None]
"""Makes the hooks of a resource or subresource; None if it has none."""

CreateOwn = Callable[["EndpointTable", GroupVersionResource, str, JsonObject], Awaitable[bool]]
"""Creates an object in a namespace as the server's own user; returns False if one of that name exists."""


@dataclass(slots=True, eq=False)
class RetiredEndpoints:
    """Retired endpoints whose watches end soon, the storage prefixes of their resources, and the new caches there."""

    endpoints: list[Endpoint]
    prefixes: set[str]
    caches: list[ResourceCache]
    owners: set[GroupResource]  # their metrics are removed, unless they are served again
    alarm: asyncio.TimerHandle | None = None


class EndpointTable:
    """The endpoints of a registry's resources."""

    def __init__(
        self, registry: Registry, caches: Caches, services: Services, make_hooks: MakeHooks, create_own: CreateOwn
    ) -> None:
        """`make_hooks` makes the hooks of resources, `create_own` creates objects for admission plug-ins."""
        self.registry, self.caches, self.services = registry, caches, services
        self._is_control_plane = bool(services.settings.shown_prefix)
        self._make_hooks, self._create_own = make_hooks, create_own
        self._endpoints: dict[GroupVersionResource, dict[str, Endpoint]] = {}  # the inner dict is by subresource
        self._followed: dict[GroupVersionResource, WeakSet[Endpoint]] = {}  # replaced endpoints whose watches continue
        self._ending: list[RetiredEndpoints] = []  # replaced endpoints whose watches end soon
        self._listeners: list[Callable[[], None]] = []

    def of(self, group: str, version: str, resource: str, subresource: str = "") -> Endpoint:
        """The endpoint of a resource or subresource. Raises KeyError if it is not served."""
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
        """The hooks of a resource; None for most resources."""
        return self._make_hooks(self, resource)

    async def create_own(self, gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
        """Creates an object as the server's own user; returns False if one of that name exists.

        Raises StatusError, StorageError.
        """
        return await self._create_own(self, gvr, namespace, obj)

    def of_resource(self, resource: Resource) -> Endpoint:
        """The endpoint of a registered resource or subresource."""
        return self.of(resource.group, resource.version, resource.resource, resource.subresource)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls `listener` whenever the served resources have changed, so that caches by path are cleared."""
        self._listeners.append(listener)

    def changed(self) -> None:
        """Calls the listeners: the resources that this or an extension API server serves have changed."""
        for listener in self._listeners:
            listener()

    async def replace(self, old: Iterable[Resource], new: Iterable[Resource], *, watched_on: bool = False) -> None:
        """Serves `new` instead of `old`; either may be empty. If it raises Unavailable, nothing has changed.

        When the caches of new resources are complete, registry, endpoints, routes, discovery and OpenAPI change
        together, in one turn of the event loop. Watches of replaced endpoints still get changes for `LINGER` seconds.
        Then they end cleanly, so that their clients watch the new endpoint. With `watched_on`, the change does not
        concern watches, and they continue. A request in progress is finished by the endpoint that began it.
        """
        old, new = list(old), list(new)
        kept = {each.gvr.group_resource for each in new}
        for group_resource in kept:
            owners.enter(("resource", *group_resource), of_others=self._is_control_plane)

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
        """Removes the endpoints of a resource from the table; returns those whose watches must end.

        With `watched_on` there are none: these watches end only when the replacing endpoints are retired, too.
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
        """Ends the watches of endpoints, and their old caches, after `LINGER`. Earlier ones of the same prefixes end
        now.
        """
        for earlier in [each for each in self._ending if each.prefixes & prefixes]:
            self._end(earlier)
        caches = [cache for each in prefixes if (cache := self.caches.at(each)) is not None]
        ending = RetiredEndpoints(endpoints, prefixes, caches, old)
        self._ending.append(ending)
        ending.alarm = asyncio.get_running_loop().call_later(LINGER, self._end, ending)

    def end_replaced(self) -> None:
        """Ends now the watches of endpoints that others have replaced, or nothing has."""
        for each in list(self._ending):
            self._end(each)

    def _end(self, ending: RetiredEndpoints) -> None:
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
