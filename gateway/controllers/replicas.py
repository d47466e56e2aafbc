"""Keeps the endpoints of the service `kubernetes`: each running server has a key in etcd under a lease.

The keys are those of kube-apiserver's lease endpoint reconciler: one for each address, under `masterleases`. So
gateways and kube-apiservers on one etcd see each other. A server that stops removes its address. If a server dies, its
key expires, and the others remove its address.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from gateway.controllers.bootstrap import advertised
from gateway.controllers.bootstrap_objects import BootstrapObject, advertised_endpoints
from gateway.controllers.outages import Outage
from gateway.endpoints.table import EndpointTable
from gateway.http.status import StatusError
from gateway.http.user import ITSELF
from gateway.jsontypes import JsonObject, dumps
from gateway.writing.actor import Actor
from storage.errors import LeaseNotFound, StorageError

logger = logging.getLogger(__name__)

TTL = 15  # seconds that a key outlives its server
ROUND = 5.0  # seconds between two renewals


class Replica:
    """This server's key, and the endpoints of all servers."""

    def __init__(self, endpoints: EndpointTable) -> None:
        settings = endpoints.services.settings
        self._endpoints, self._client = endpoints, endpoints.services.client
        self.address = settings.advertise_address or advertised(settings.bind_address)
        self._root = f"{settings.etcd_prefix}/masterleases/".encode()
        self._objects = list(advertised_endpoints(self.address, settings.secure_port))
        self._lease = 0

    async def run(self, stopping: asyncio.Event) -> None:
        """Keeps this server's key until the process stops, and reconciles the endpoints."""
        outage = Outage(logger, "this server's address could not be published")
        while not stopping.is_set():
            try:
                await self._be_there()
                await self.reconcile()
                outage.succeeded()
            except (StatusError, StorageError) as error:
                outage.failed(error)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), ROUND)
        with contextlib.suppress(StatusError, StorageError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._leave()

    async def _be_there(self) -> None:
        """Renews the lease of this server's key, and writes the key if it is missing."""
        leases = self._client.leases
        if self._lease:
            try:
                await leases.keep_alive(self._lease)
            except LeaseNotFound:
                self._lease = 0
        if not self._lease:
            self._lease = (await leases.grant(TTL)).id
        key = self._root + self.address.encode()
        if await self._client.get(key) is None:
            value = {"kind": "Endpoints", "apiVersion": "v1", "metadata": {"creationTimestamp": None}}
            subsets = [{"addresses": [{"ip": self.address}]}]
            await self._client.put(key, dumps({**value, "subsets": subsets}), lease=self._lease)

    async def _leave(self) -> None:
        lease, self._lease = self._lease, 0
        if lease:
            await self._client.leases.revoke(lease)
            await self.reconcile()

    async def reconcile(self) -> None:
        """Writes the running servers' addresses into the service's endpoints. Raises StatusError, StorageError."""
        found = await self._client.prefix(self._root, keys_only=True)
        addresses = sorted(kv.key[len(self._root) :].decode() for kv in found.kvs)
        if addresses:  # if no server is left, the addresses stay for the next start
            for each in self._objects:
                await self._lead_to(each, addresses)

    async def _lead_to(self, wanted: BootstrapObject, addresses: list[str]) -> None:
        def alter(obj: JsonObject) -> bool:
            changed = with_addresses(obj, addresses)
            obj.update(changed or {})
            return changed is not None

        endpoint = self._endpoints.of(wanted.group, wanted.version, wanted.resource)
        entry = endpoint.store.cached_entry(endpoint.key(wanted.namespace, wanted.name))
        if entry is None or (entry.readable is not None and with_addresses(entry.parsed(), addresses) is not None):
            actor = Actor(self._endpoints, ITSELF, manager=wanted.manager)
            await actor.change(endpoint, wanted.namespace, wanted.name, alter)


def with_addresses(content: JsonObject, addresses: list[str]) -> JsonObject | None:
    """Endpoints or an EndpointSlice with exactly these addresses (of its family); None if nothing is to change."""
    if "addressType" in content:
        family = [each for each in addresses if (":" in each) == (content["addressType"] == "IPv6")]
        present = content.get("endpoints") or []
        if [address for each in present for address in each["addresses"]] == family:
            return None
        endpoints = [{"addresses": [each], "conditions": {"ready": True}} for each in family]
        return {**content, "endpoints": endpoints}
    subsets = content.get("subsets") or []
    if not subsets or [each["ip"] for each in subsets[0].get("addresses", ())] == addresses:
        return None
    return {**content, "subsets": [{**subsets[0], "addresses": [{"ip": each} for each in addresses]}, *subsets[1:]]}
