"""Sets the condition Available of APIServices: the service exists, has endpoints, and answers discovery."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from gateway.aggregation.identity import on_behalf_of
from gateway.aggregation.services import AVAILABLE, GROUP, RESOURCE, ApiService, ApiServices
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import now_text
from gateway.kinds.service_objects import ServiceObjects
from gateway.outbound.client import Client
from gateway.outbound.errors import CallError
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import OutboundRequest
from gateway.outbound.services import NoAddress, ServiceAddresses, endpoints
from gateway.release.gates import Enabled
from gateway.work_queue import WorkQueue
from gateway.writing.actor import Actor
from storage.instruments import ALPHA, counter, gauge

AGGREGATOR = User("system:kube-aggregator", ("system:masters",))
PROBES = 5  # concurrent requests; one success is enough
PROBE_TIMEOUT = 5.0  # seconds
EVERY = 30.0  # seconds between two checks if nothing changes


UNAVAILABLE = gauge(
    "aggregator_unavailable_apiservice", "1 for each APIService that is not available, by name.", "name", level=ALPHA
)
UNAVAILABLE_TOTAL = counter(
    "aggregator_unavailable_apiservice_total",
    "How often APIServices were found not to be available, by name and reason.",
    "name",
    "reason",
    level=ALPHA,
)


class ExtensionUnavailable(Exception):
    """An extension API server is not available. `reason` is the condition's reason, `str()` its message."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Availability:
    """Checks extension API servers, and writes the condition. The queue has names of APIServices."""

    def __init__(
        self,
        services: ApiServices,
        objects: ServiceObjects,
        addresses: ServiceAddresses,
        client: Client,
        identity: ClientIdentity,
        actor: Actor,
        enabled: Enabled,
    ) -> None:
        self._verifies = enabled("APIServiceChecksVerify")
        self._services, self._objects, self._addresses = services, objects, addresses
        self._client, self._identity, self._actor = client, identity, actor
        self.queue: WorkQueue[str] = WorkQueue("RemoteAvailabilityController", max_delay=EVERY)
        self._unavailable: dict[str, bool] = {}
        self._found: Counter[tuple[str, ...]] = Counter()  # by name and reason

    def follow(self) -> None:
        """Makes the families of metrics report what this one finds: metrics are of the process, whose root this is."""
        UNAVAILABLE.reads(lambda: {(name,): float(gone) for name, gone in self._unavailable.items()})
        UNAVAILABLE_TOTAL.reads(lambda: self._found)

    def changed(self, names: Collection[str]) -> None:
        """Queues APIServices to be checked."""
        for name in names:
            self.queue.add(name)

    async def reconcile(self, name: str) -> None:
        """Checks one APIService. Raises Unavailable if discovery fails, so that the queue tries it again.

        Raises StatusError, StorageError.
        """
        service = self._services.get(name)
        if service is None:
            self._unavailable.pop(name, None)
            for key in [each for each in self._found if each[0] == name]:
                del self._found[key]
            return
        if service.service is None:
            if service.available:
                return
            await self._write(service, {"status": "True", **LOCAL})
            return
        self.queue.add_after(name, EVERY)
        try:
            self._look_at_service(service)
            await self._probe(service)
        except ExtensionUnavailable as error:
            await self._write(service, {"status": "False", "reason": error.reason, "message": str(error)})
            if error.reason == "FailedDiscoveryCheck":
                raise
        else:
            await self._write(service, {"status": "True", "reason": "Passed", "message": "all checks passed"})

    def _look_at_service(self, service: ApiService) -> None:
        """Checks the Service and its EndpointSlices. Raises Unavailable."""
        assert service.service is not None
        namespace, name, port = service.service
        found = self._objects.service(namespace, name)
        shown = f'service/{name} in "{namespace}"'
        if found is None:
            raise ExtensionUnavailable("ServiceNotFound", f"{shown} is not present")
        spec = found.get("spec") or {}
        if (spec.get("type") or "ClusterIP") != "ClusterIP":
            return
        at = next((each for each in spec.get("ports") or () if each.get("port") == port), None)
        if at is None:
            raise ExtensionUnavailable("ServicePortError", f"{shown} is not listening on port {port}")
        slices, port_name = self._objects.endpoint_slices(namespace, name), at.get("name") or ""
        if not slices:
            raise ExtensionUnavailable("EndpointsNotFound", f"cannot find endpointslices for {shown}")
        if not any(endpoints(slices, port_name)):
            message = f'endpointslices for {shown} have no addresses with port name "{port_name}"'
            raise ExtensionUnavailable("MissingEndpoints", message)

    async def _probe(self, service: ApiService) -> None:
        """Requests the discovery document. Raises Unavailable with the last error if all requests fail."""
        probes = [asyncio.ensure_future(self._ask(service)) for _ in range(PROBES)]
        problem = ""
        try:
            for each in asyncio.as_completed(probes):
                problem = await each
                if not problem:
                    return
        finally:
            for probe in probes:
                probe.cancel()
        raise ExtensionUnavailable("FailedDiscoveryCheck", problem)

    async def _ask(self, service: ApiService) -> str:
        """The error of one request for the discovery document; "" if it succeeds."""
        try:
            seen = service if self._verifies else replace(service, insecure=True)
            target = seen.target(self._addresses, self._identity)
        except (NoAddress, OSError, ValueError) as error:
            return str(error)
        url = f"https://{target.host_header}{service.path}"
        try:
            request = OutboundRequest("GET", service.path, on_behalf_of(AGGREGATOR))
            answer = await self._client.stream(target, request, PROBE_TIMEOUT)
        except CallError as error:
            said = f"{error} (Client.Timeout exceeded while awaiting headers)" if error.late else str(error)
            return f'failing or missing response from {url}: Get "{url}": {said}'
        await answer.aclose()
        if not 200 <= answer.status < 300:
            return f"failing or missing response from {url}: bad status from {url}: {answer.status}"
        return ""

    async def _write(self, service: ApiService, condition: JsonObject) -> None:
        """Writes the condition if it differs, and updates the metrics."""
        gone = condition["status"] != "True"
        if gone and not self._unavailable.get(service.name):
            self._found[service.name, condition["reason"]] += 1
        self._unavailable[service.name] = gone

        def alter(obj: JsonObject) -> bool:
            known = obj.setdefault("status", {}).setdefault("conditions", [])
            present = next((each for each in known if each.get("type") == AVAILABLE), None)
            if present is None:
                known.append({"type": AVAILABLE, "lastTransitionTime": now_text(), **condition})
                return True
            if all(present.get(key) == value for key, value in condition.items()):
                return False
            if present.get("status") != condition["status"]:
                present["lastTransitionTime"] = now_text()
            present.update(condition)
            return True

        status = self._actor.of(GROUP, "v1", RESOURCE, "status")
        await self._actor.change(status, "", service.name, alter)


LOCAL = {"reason": "Local", "message": "Local APIServices are always available"}
"""The condition of an APIService of this server's own."""
