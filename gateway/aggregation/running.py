"""Aggregation in one process: its parts, what they are told, and the work that they do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gateway.aggregation.availability import Availability
from gateway.aggregation.contents import Contents
from gateway.aggregation.delegation import Delegation
from gateway.aggregation.described import Described
from gateway.aggregation.discovered import Discovered
from gateway.aggregation.registration import Registration
from gateway.aggregation.services import GROUP, RESOURCE, ApiServices
from gateway.controllers.queue import work
from gateway.discovery.serving import Discovery
from gateway.endpoints.table import Endpoints
from gateway.http.user import ITSELF
from gateway.jsontypes import loads
from gateway.kinds.service_objects import SERVICE_NAME, ServiceObjects
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.services import ServiceAddresses
from gateway.writing.actor import Actor
from storage.keys import namespace_and_name
from storage.tap import Batch, State, listen

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

_WORKERS = 5


class Aggregation:
    """What a process knows of extension servers. `delegation` answers for them; None while there are none."""

    def __init__(self, endpoints: Endpoints, discovery: Discovery, identity: ClientIdentity) -> None:
        services = endpoints.services
        self._endpoints = endpoints
        objects, client = ServiceObjects(services.admission.objects), services.outbound
        addresses = ServiceAddresses(
            objects.service, objects.endpoint_slices, services.settings.enable_aggregator_routing
        )
        actor = Actor(endpoints, ITSELF, manager="kube-apiserver")
        self.services = ApiServices()
        self.availability = Availability(self.services, objects, addresses, client, identity, actor)
        self.registration = Registration(self.services, endpoints.registry, actor)
        self.discovered = Discovered(self.services, client, addresses, identity, discovery.refresh)
        self.described = Described(self.services, client, addresses, identity)
        services.foreign = Contents(self.services, self.discovered, client, addresses, identity)
        self._delegation = Delegation(self.services, client, addresses, identity)
        discovery.others = self.discovered

    @property
    def delegation(self) -> Delegation | None:
        """Who answers requests for extension servers; None while there are none."""
        return self._delegation if self.services.remote else None

    def follow(self) -> None:
        """Begins to follow APIServices, and what they lead to."""
        cache = self._endpoints.services.store.cache
        self.services.follow(cache, self._endpoints.of(GROUP, "v1", RESOURCE).cache)
        self.services.on_change(self._changed)
        definitions = self._endpoints.of("apiextensions.k8s.io", "v1", "customresourcedefinitions").cache
        self.registration.follow(cache, definitions)
        services = self._endpoints.of("", "v1", "services")
        slices = self._endpoints.of("discovery.k8s.io", "v1", "endpointslices")
        listen(cache, [services.cache], self._services_changed(services.collection("")))
        listen(cache, [slices.cache], self._slices_changed)

    async def run(self) -> None:
        """Does the work until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(work(self.availability.queue, self.availability.reconcile, _WORKERS))
            group.create_task(work(self.registration.queue, self.registration.reconcile, _WORKERS))
            group.create_task(work(self.discovered.queue, self.discovered.reconcile, _WORKERS))
            group.create_task(work(self.described.queue, self.described.reconcile, _WORKERS))

    def _changed(self, names: set[str]) -> None:
        self.availability.changed(names)
        remote = {name for name in names if (found := self.services.all.get(name)) is None or found.service}
        self.discovered.changed(remote)
        self.described.changed(remote)

    def _services_changed(self, prefix: bytes) -> Callable[[Batch], None]:
        def tell(batch: Batch) -> None:
            if not self.services.remote:
                return
            if isinstance(batch, State):
                self.availability.changed({each.name for each in self.services.remote.values()})
                return
            for told in batch.told:
                namespace, name = namespace_and_name(told.change.entry.key, prefix)
                self.availability.changed(set(self.services.of_service(namespace, name)))

        return tell

    def _slices_changed(self, batch: Batch) -> None:
        if not self.services.remote or isinstance(batch, State):
            return
        namespaces = {each.service[0] for each in self.services.remote.values() if each.service}
        for told in batch.told:
            meta = loads(b"{" + told.change.entry.tail)["metadata"]
            if meta["namespace"] in namespaces:
                service = (meta.get("labels") or {}).get(SERVICE_NAME, "")
                self.availability.changed(set(self.services.of_service(meta["namespace"], service)))
