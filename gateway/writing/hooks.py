"""Makes the write hooks of kinds, and writes objects for them, such as IPAddresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.endpoints.hooks import WriteHooks
from gateway.endpoints.table import EndpointTable
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
    """Writes objects as the server's own user, by the usual steps of a write."""

    def __init__(self, endpoints: EndpointTable) -> None:
        self._actor = Actor(endpoints, ITSELF, manager=MANAGER)

    async def create(self, gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
        """Creates an object; returns False if one of that name exists. Raises StatusError, StorageError."""
        return await self._actor.create(self._actor.of(*gvr), namespace, obj) is not None

    async def delete(
        self, gvr: GroupVersionResource, namespace: str, name: str, *, resource_version: str | None = None
    ) -> None:
        """Deletes an object, if it exists; with `resource_version`, only that version. Raises StatusError,
        StorageError.
        """
        options = DeleteOptions(grace_period=0, resource_version=resource_version)
        await self._actor.delete(self._actor.of(*gvr), namespace, name, options)


async def create_own(endpoints: EndpointTable, gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
    """The same as `OwnObjects.create`."""
    return await OwnObjects(endpoints).create(gvr, namespace, obj)


def hooks_for(endpoints: EndpointTable, resource: Resource) -> WriteHooks | None:
    """The write hooks of a resource; None if its strategy allocates nothing."""
    match resource.strategy.allocation:
        case Allocation.SERVICE_ADDRESSES:
            return service_allocation(endpoints)
        case None:
            return None


def service_allocation(endpoints: EndpointTable) -> ServiceAllocation:
    """The hooks that allocate cluster IPs and node ports of Services."""
    from gateway.allocation.services import ServiceAllocation  # imported late: only writes of Services need it

    services, store = endpoints.services, endpoints.of("", "v1", "services").store
    return ServiceAllocation(store, services.stores, services.settings, OwnObjects(endpoints))
