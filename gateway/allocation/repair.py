"""Repairs allocations after a crash between an allocation and the write of its service.

An address or port that a service uses is marked as allocated at once. An unused one is released only after several
rounds: its service may not be written yet. kube-apiserver's repair controllers do the same.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from gateway.allocation.addresses import MANAGED_BY, AddressOwner
from gateway.allocation.carry_over import needs_health_check_port, node_ports
from gateway.allocation.metrics import ADDRESS_ROUNDS, LEAK, PORT_ROUNDS, REPAIR, REPAIRED_ADDRESSES, REPAIRED_PORTS
from gateway.allocation.services import ServiceAllocation
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, loads
from storage.errors import StorageError, StoredObject, Unavailable

log = logging.getLogger(__name__)

INTERVAL = 180.0
ROUNDS = 3


@dataclass(slots=True)
class UnusedAllocations:
    """Addresses or ports that no service seems to use, each with the number of rounds in a row without a user."""

    rounds: dict[str, int] = field(default_factory=dict)

    def confirmed(self, unused: set[str]) -> set[str]:
        """Counts a round, and returns the names that have been unused for ROUNDS rounds."""
        self.rounds = {name: self.rounds.get(name, 0) + 1 for name in unused}
        return {name for name, count in self.rounds.items() if count >= ROUNDS}


async def repair_until(allocation: ServiceAllocation, stopping: asyncio.Event, interval: float = INTERVAL) -> None:
    """Repairs now, and then every `interval` seconds until `stopping` is set. Safe on several replicas at once."""
    addresses, ports = UnusedAllocations(), UnusedAllocations()
    while not stopping.is_set():
        try:
            await repair(allocation, addresses, ports)
        except (StatusError, StorageError) as error:
            level = logging.DEBUG if isinstance(error, Unavailable) else logging.WARNING  # the feed logs an outage
            ADDRESS_ROUNDS.labels().inc()
            PORT_ROUNDS.labels().inc()
            log.log(level, "cluster IPs and node ports could not be checked", extra={"error": str(error)})
        try:
            await asyncio.wait_for(stopping.wait(), interval)
        except TimeoutError:
            continue


async def repair(allocation: ServiceAllocation, addresses: UnusedAllocations, ports: UnusedAllocations) -> None:
    """One round of repair. Raises StatusError, StorageError."""
    taken_ports = await allocation.ports.taken()
    recorded = await _stored(allocation, "ipaddresses")
    services = [loads(each.value) for each in await _stored(allocation, "services/specs")]
    await _repair_addresses(allocation, services, recorded, addresses)
    used = _ports(services)
    missing = used - taken_ports
    if missing:
        await allocation.ports.take(missing)
        REPAIRED_PORTS.labels(REPAIR).inc(len(missing))
    leaked = ports.confirmed({str(port) for port in taken_ports - used})
    if leaked:
        await allocation.ports.release(int(port) for port in leaked)
        REPAIRED_PORTS.labels(LEAK).inc(len(leaked))


async def _stored(allocation: ServiceAllocation, resource: str) -> list[StoredObject]:
    prefix = f"{allocation.prefix}/{resource}/".encode()
    return await allocation.stores.of_collection(prefix).list(prefix)


async def _repair_addresses(
    allocation: ServiceAllocation, services: list[JsonObject], recorded: list[StoredObject], suspects: UnusedAllocations
) -> None:
    used: dict[str, AddressOwner] = {}
    for service in services:
        meta = service["metadata"]
        for address in (service.get("spec") or {}).get("clusterIPs") or ():
            if address and address != "None":
                used[address] = AddressOwner(meta["namespace"], meta["name"])
    by_name = {stored.key.rsplit(b"/", 1)[1].decode(): stored for stored in recorded}
    for address, parent in used.items():
        if address not in by_name:
            await allocation.addresses.record(address, parent)
            REPAIRED_ADDRESSES.labels(REPAIR).inc()
    unused = {name for name, stored in by_name.items() if name not in used and _is_ours(stored)}
    for name in suspects.confirmed(unused):
        await allocation.addresses.forget(name, by_name[name].revision)
        REPAIRED_ADDRESSES.labels(LEAK).inc()


def _is_ours(stored: StoredObject) -> bool:
    labels = loads(stored.value)["metadata"].get("labels") or {}
    return MANAGED_BY in labels.values()


def _ports(services: list[JsonObject]) -> set[int]:
    found: set[int] = set()
    for service in services:
        spec = service.get("spec") or {}
        found.update(node_ports(spec))
        if needs_health_check_port(spec) and spec.get("healthCheckNodePort"):
            found.add(spec["healthCheckNodePort"])
    return found
