"""What some kinds do around a write besides their strategy: allocate before it, release after it.

As the Begin/After hooks of apiserver's generic registry store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from gateway.endpoints.services import Services
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.resource import Resource
from gateway.kinds.strategy import Allocation

Finish = Callable[[bool], Awaitable[None]]  # called once with whether the write went through


class WriteHooks(Protocol):
    """The hooks of one resource. Objects are in the storage version; `begin_*` may change `obj` in place."""

    async def begin_create(self, obj: JsonObject, attributes: Attributes) -> Finish: ...

    async def begin_update(self, obj: JsonObject, old: JsonObject, attributes: Attributes) -> Finish: ...

    async def after_delete(self, old: JsonObject, attributes: Attributes) -> None: ...


def hooks_for(services: Services, resource: Resource) -> WriteHooks | None:
    """The hooks of a resource, or None; subresources have none."""
    match resource.strategy.allocation:
        case Allocation.SERVICE_ADDRESSES:
            from gateway.allocation.services import ServiceAllocation  # only writes of services need it

            return ServiceAllocation(services.store, services.settings)
        case None:
            return None
