"""Aggregation in one process: tells its parts of changes, and runs their work queues."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING

from gateway.aggregation.availability import Availability
from gateway.aggregation.delegation import Delegation
from gateway.aggregation.described import Described
from gateway.aggregation.discovered import Discovered
from gateway.aggregation.registration import Registration
from gateway.aggregation.service_changes import ServiceChanges, SliceChanges
from gateway.aggregation.services import ApiServices
from gateway.controllers.queue import work

if TYPE_CHECKING:
    from gateway.aggregation.duty import Duty

AGGREGATION_HOOKS = (
    "apiservice-registration-controller",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-discovery-controller",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
    "kube-apiserver-autoregistration",
)
"""What health checks call the work done here."""

_REGISTERING = 4  # a definition may have thousands of versions, and each of these holds the loop a little
_WORKERS = 16  # a server that hangs holds up one of them for some seconds


class Aggregation:
    """What a process knows of extension servers. `delegation` answers for them, `described` has their documents."""

    def __init__(
        self,
        services: ApiServices,
        delegation: Delegation,
        discovered: Discovered,
        described: Described,
        availability: Availability,
        registration: Registration,
    ) -> None:
        """`services` are the APIServices; each part is told of those that change."""
        self.services, self.delegation, self.described = services, delegation, described
        self._discovered, self._availability, self.registration = discovered, availability, registration
        self.of_services = ServiceChanges(services, self._services_changed)
        self.of_slices = SliceChanges(services, availability.changed)
        self.ended = False  # whether the work is over
        services.on_change(self._changed)

    async def run(self, duty: Duty) -> None:
        """Does the work until it is cancelled; where it is not this process' `duty`, availability is read only."""
        try:
            await self._work(duty)
        finally:
            self.ended = True

    async def _work(self, duty: Duty) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._look(duty))
            group.create_task(work(self.registration.queue, self.registration.reconcile, _REGISTERING))
            group.create_task(work(self._discovered.queue, self._discovered.reconcile, _WORKERS))
            group.create_task(work(self.described.queue, self.described.reconcile, _WORKERS))

    async def _look(self, duty: Duty) -> None:
        """Looks whether servers are there, beginning with what has changed while another process did it."""
        await duty.taken()
        try:
            await work(self._availability.queue, self._availability.reconcile, _WORKERS)
        finally:
            duty.leave()

    def _changed(self, names: Collection[str]) -> None:
        self.delegation.forget()
        self._availability.changed(names)
        remote = {name for name in names if (found := self.services.get(name)) is None or found.service}
        self._discovered.changed(remote)
        self.described.changed(remote)

    def _services_changed(self, names: Collection[str]) -> None:
        self.delegation.forget()
        self._availability.changed(names)
