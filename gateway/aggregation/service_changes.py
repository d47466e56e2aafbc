"""Finds the APIServices that are affected by changes of Services and EndpointSlices."""

from __future__ import annotations

from collections.abc import Callable, Collection

from gateway.aggregation.services import ApiServices
from gateway.jsontypes import loads
from gateway.kinds.service_objects import SERVICE_NAME
from storage.cache import ResourceCache
from storage.entry import Entry
from storage.keys import namespace_and_name

Changed = Callable[[Collection[str]], None]
"""Is called with the names of APIServices."""


class ServiceChanges:
    """A follower of Services: calls `changed` with the APIServices that refer to a changed Service."""

    name = "aggregation"  # in logs and metrics

    def __init__(self, services: ApiServices, changed: Changed) -> None:
        """`changed` is called after each batch, even without names: cached addresses of Services must be dropped."""
        self._services, self._changed = services, changed
        self._names: set[str] = set()

    def clear(self) -> None:
        self._names = {each.name for each in self._services.remote.values()}

    def take(self, resource: ResourceCache, entry: Entry) -> None:
        if self._services.remote:
            namespace, name = namespace_and_name(entry.key, resource.spec.prefix)
            self._names.update(self._services.of_service(namespace, name))

    lose = take

    def on_revision(self, revision: int) -> None:
        names, self._names = self._names, set()
        self._changed(names)


class SliceChanges:
    """A follower of EndpointSlices: calls `changed` with the APIServices whose Service has a changed slice."""

    name = "aggregation"

    def __init__(self, services: ApiServices, changed: Changed) -> None:
        """`changed` is called after each batch with names, but not for a full state: ServiceChanges reports that."""
        self._services, self._changed = services, changed
        self._names: set[str] = set()
        self._whole = False

    def clear(self) -> None:
        self._whole = True

    def take(self, resource: ResourceCache, entry: Entry) -> None:
        if self._whole or not self._services.remote:
            return
        namespace, _ = namespace_and_name(entry.key, resource.spec.prefix)
        if any(each.service and each.service[0] == namespace for each in self._services.remote.values()):
            labels = loads(b"{" + entry.tail)["metadata"].get("labels") or {}
            self._names.update(self._services.of_service(namespace, labels.get(SERVICE_NAME, "")))

    lose = take

    def on_revision(self, revision: int) -> None:
        names, self._names, self._whole = self._names, set(), False
        if names:
            self._changed(names)
