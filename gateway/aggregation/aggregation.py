"""Runs aggregation in one process: passes changes of APIServices to its parts, and runs their work queues."""

from __future__ import annotations

from collections.abc import Collection

from gateway.aggregation.availability import Availability
from gateway.aggregation.delegation import Delegation
from gateway.aggregation.duty import Duty
from gateway.aggregation.extension_discovery import ExtensionDiscovery
from gateway.aggregation.extension_openapi import ExtensionOpenApi
from gateway.aggregation.registration import Registration
from gateway.aggregation.service_changes import ServiceChanges, SliceChanges
from gateway.aggregation.services import ApiServices
from gateway.task_group import TaskGroup
from gateway.work_queue import work

AGGREGATION_HOOKS = (
    "apiservice-registration-controller",
    "apiservice-status-local-available-controller",
    "apiservice-status-remote-available-controller",
    "apiservice-discovery-controller",
    "apiservice-openapi-controller",
    "apiservice-openapiv3-controller",
    "kube-apiserver-autoregistration",
)
"""The names of this module's work in health checks."""

_REGISTERING = 4  # few, because a CRD may have thousands of versions, and each occupies the event loop
_WORKERS = 16  # many, because an extension API server that hangs blocks one worker for some seconds


class Aggregation:
    """All parts of aggregation. `delegation` forwards requests, `described` has OpenAPI documents."""

    def __init__(
        self,
        services: ApiServices,
        delegation: Delegation,
        discovered: ExtensionDiscovery,
        described: ExtensionOpenApi,
        availability: Availability,
        registration: Registration,
    ) -> None:
        """Listens to `services`, and passes the names of changed APIServices to each part."""
        self.services, self.delegation, self.described = services, delegation, described
        self._discovered, self._availability, self.registration = discovered, availability, registration
        self.of_services = ServiceChanges(services, self._services_changed)
        self.of_slices = SliceChanges(services, availability.changed)
        self.ended = False  # whether `run` has ended
        services.on_change(self._changed)

    def follow(self) -> None:
        """Makes the metrics of the process report these APIServices."""
        self._availability.follow()

    async def run(self, duty: Duty, *, most_workers: int = _WORKERS, registers: bool = True) -> None:
        """Runs all queues until cancelled.

        The availability queue runs only while this process has the `duty`. The queue that registers APIServices of
        CustomResourceDefinitions runs only with `registers`.
        """
        try:
            await self._work(duty, most_workers, registers)
        finally:
            self.ended = True

    async def _work(self, duty: Duty, workers: int, registers: bool) -> None:
        async with TaskGroup() as group:
            group.create_task(self._look(duty, workers))
            if registers:
                group.create_task(work(self.registration.queue, self.registration.reconcile, _REGISTERING))
            group.create_task(work(self._discovered.queue, self._discovered.reconcile, workers))
            group.create_task(work(self.described.queue, self.described.reconcile, workers))

    async def _look(self, duty: Duty, workers: int) -> None:
        """Waits for the duty, and then checks availability.

        The queue collects changes in the meantime, so the first checks are of these.
        """
        await duty.acquire()
        try:
            await work(self._availability.queue, self._availability.reconcile, workers)
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
