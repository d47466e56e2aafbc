"""Makes the hooks of kinds, and writes the objects that they allocate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.endpoints.hooks import WriteHooks
from gateway.endpoints.table import Endpoints
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.resource import Resource
from gateway.kinds.strategy import Allocation
from gateway.writing.actor import Actor
from gateway.writing.options import DeleteOptions

if TYPE_CHECKING:
    from gateway.allocation.services import ServiceAllocation

MANAGER = "kube-apiserver"


class OwnObjects:
    """Objects that the server keeps for itself, written by the stages of a write like anybody's."""

    def __init__(self, endpoints: Endpoints) -> None:
        self._actor = Actor(endpoints, ITSELF, manager=MANAGER)

    async def create(self, gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
        """Creates an object; False when there is one of its name. Raises StatusError, StorageError."""
        return await self._actor.create(self._actor.of(*gvr), namespace, obj) is not None

    async def delete(
        self, gvr: GroupVersionResource, namespace: str, name: str, *, resource_version: str | None = None
    ) -> None:
        """Deletes an object, or a version of it; one that is not there is none. Raises StatusError, StorageError."""
        options = DeleteOptions(grace_period=0, resource_version=resource_version)
        await self._actor.delete(self._actor.of(*gvr), namespace, name, options)


async def create_own(endpoints: Endpoints, gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
    """As `OwnObjects.create` does."""
    return await OwnObjects(endpoints).create(gvr, namespace, obj)


def hooks_for(endpoints: Endpoints, resource: Resource) -> WriteHooks | None:
    """The hooks of a resource, or None; subresources have none."""
    match resource.strategy.allocation:
        case Allocation.SERVICE_ADDRESSES:
            return service_allocation(endpoints)
        case None:
            return None


def service_allocation(endpoints: Endpoints) -> ServiceAllocation:
    """What hands out the addresses and ports of services."""
    from gateway.allocation.services import ServiceAllocation  # only writes of services need it

    services, store = endpoints.services, endpoints.of("", "v1", "services").store
    return ServiceAllocation(store, services.stores, services.settings, OwnObjects(endpoints))
