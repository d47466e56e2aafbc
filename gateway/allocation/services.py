"""Allocates cluster IPs and node ports before a service is written, and releases them after its deletion.

kube-apiserver's service storage does the same. If the write fails, its addresses and ports are released.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from copy import deepcopy

from gateway.allocation.addresses import Addresses, AddressOwner, ObjectWriter
from gateway.allocation.carry_over import in_step, keep_allocated, needs_health_check_port, node_ports
from gateway.allocation.errors import AllocationError, RangeFull
from gateway.allocation.families import fill_families, refused, unchanged_preference
from gateway.allocation.ports import NodePorts
from gateway.http.status import StatusError, internal_error
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.write_context import WriteContext
from gateway.settings.config import Settings
from gateway.validation.field import invalid
from storage.change import Finish
from storage.errors import StorageError
from storage.protocol import Store
from storage.store import Stores

_ENDPOINTS = GroupVersionResource("", "v1", "endpoints")

log = logging.getLogger(__name__)

_BEYOND = 32768  # beyond the usual range, whatever the range is


class Holding:
    """The addresses and ports that one write has allocated, and those that it releases once it has succeeded."""

    def __init__(self, addresses: Addresses, ports: NodePorts, parent: AddressOwner, dry_run: bool) -> None:
        self._addresses, self._ports, self._parent, self._dry_run = addresses, ports, parent, dry_run
        self._taken_addresses: list[str] = []
        self._taken_ports: list[int] = []
        self.freed_addresses: list[str] = []
        self.freed_ports: list[int] = []

    async def address(self, family: str, wanted: str) -> str:
        """Allocates the address `wanted`, or any of the family if that is empty. Raises AllocationError."""
        if wanted:
            await self._addresses.allocate(wanted, self._parent, dry_run=self._dry_run)
        else:
            wanted = await self._addresses.allocate_next(family, self._parent, dry_run=self._dry_run)
        self._taken_addresses.append(wanted)
        return wanted

    async def port(self, wanted: int = 0) -> int:
        """Allocates the port `wanted`, or any if that is 0. Raises AllocationError."""
        if self._dry_run:
            return await self._dry_port(wanted)
        if wanted:
            await self._ports.allocate(wanted)
        else:
            wanted = await self._ports.allocate_next()
        self._taken_ports.append(wanted)
        return wanted

    async def _dry_port(self, wanted: int) -> int:
        """The port that a dry run answers with: `wanted`, or the one after the largest of this write so far. The first
        one is clearly not a real one."""
        if not wanted:
            wanted = max(self._taken_ports, default=_BEYOND) + 1
        elif wanted in self._taken_ports or await self._ports.is_taken(wanted):
            raise AllocationError("provided port is already allocated")
        self._taken_ports.append(wanted)
        return wanted

    async def finish(self, success: bool) -> None:
        """Releases addresses and ports: after a success those the service gave up, otherwise those the write took."""
        if self._dry_run:
            return
        try:
            for address in self.freed_addresses if success else self._taken_addresses:
                await self._addresses.release(address)
            await self._ports.release(self.freed_ports if success else self._taken_ports)
        except (StatusError, StorageError) as error:
            log.warning(
                "addresses or ports could not be released; the periodic repair releases them",
                extra={"error": str(error)},
            )


class ServiceAllocation:
    """The write hooks of services."""

    def __init__(self, store: Store, stores: Stores, settings: Settings, objects: ObjectWriter) -> None:
        """`store` has the services and, as in kube-apiserver, the bitmap of their node ports."""
        self.stores, self.prefix, self._objects = stores, settings.etcd_prefix, objects
        ranges = tuple(settings.service_cluster_ip_range.split(","))
        self.addresses = Addresses(stores, settings.etcd_prefix, ranges, objects)
        self.ports = NodePorts(store, settings.etcd_prefix, *settings.service_node_port_range)

    async def begin_create(self, obj: JsonObject, context: WriteContext) -> Finish:
        """Completes the spec of a new service, and allocates its addresses and ports. Raises StatusError 422, 500."""
        spec = obj.setdefault("spec", {})
        in_step(spec, None)
        fill_families(obj, None, self.addresses.families)
        holding = self._holding(obj, context)
        return await self._guarded(holding, self._take_all(obj, holding))

    async def begin_update(self, obj: JsonObject, old: JsonObject, context: WriteContext) -> Finish:
        """As `begin_create`, but keeps what the old service has. Raises StatusError 422, 500."""
        spec, before = obj.setdefault("spec", {}), deepcopy(old["spec"])
        keep_allocated(spec, before)
        in_step(spec, before)
        fill_families(obj, {**old, "spec": before}, self.addresses.families)
        holding = self._holding(obj, context)
        return await self._guarded(holding, self._take_difference(obj, before, holding))

    async def after_delete(self, old: JsonObject, context: WriteContext) -> None:
        """Releases the addresses and ports of a deleted service, and deletes the Endpoints of its name."""
        await self._objects.delete(_ENDPOINTS, context.namespace, old["metadata"]["name"])
        spec = old.get("spec") or {}
        if spec.get("type") != "ExternalName":
            for address in spec.get("clusterIPs") or ():
                if address and address != "None":
                    await self.addresses.release(address)
        freed = node_ports(spec)
        if needs_health_check_port(spec) and spec.get("healthCheckNodePort"):
            freed.append(spec["healthCheckNodePort"])
        await self.ports.release(freed)

    def _holding(self, obj: JsonObject, context: WriteContext) -> Holding:
        parent = AddressOwner(context.namespace, obj["metadata"].get("name", ""))
        return Holding(self.addresses, self.ports, parent, context.dry_run)

    async def _guarded(self, holding: Holding, work: Awaitable[None]) -> Finish:
        try:
            await work
        except (StatusError, AllocationError):
            await holding.finish(False)
            raise
        return holding.finish

    async def _take_all(self, obj: JsonObject, holding: Holding) -> None:
        await _take_addresses(obj, holding)
        spec = obj["spec"]
        if spec.get("type") in ("NodePort", "LoadBalancer"):
            await _take_ports(obj, holding)
        if needs_health_check_port(spec):
            await _take_health_check_port(spec, holding)

    async def _take_difference(self, obj: JsonObject, before: JsonObject, holding: Holding) -> None:
        spec = obj["spec"]
        await _change_addresses(obj, before, holding)
        exposed = ("NodePort", "LoadBalancer")
        if before.get("type") in exposed and spec.get("type") in ("ExternalName", "ClusterIP"):
            holding.freed_ports += node_ports(before)
        if spec.get("type") in exposed:
            await _change_ports(obj, before, holding)
        if needs_health_check_port(spec) and not needs_health_check_port(before):
            await _take_health_check_port(spec, holding)
        elif needs_health_check_port(before) and not needs_health_check_port(spec):
            holding.freed_ports.append(before.get("healthCheckNodePort", 0))


async def _take_addresses(obj: JsonObject, holding: Holding) -> None:
    spec = obj["spec"]
    addresses: list[str] = list(spec.get("clusterIPs") or [])
    if spec.get("type") == "ExternalName" or addresses[:1] == ["None"]:
        return
    families = spec.get("ipFamilies") or []
    addresses += [""] * (len(families) - len(addresses))
    for index, family in enumerate(families):
        addresses[index] = await _take_address(obj, family, addresses, index, holding)
    if addresses:
        spec["clusterIPs"], spec["clusterIP"] = addresses, addresses[0]


async def _take_address(obj: JsonObject, family: str, addresses: list[str], index: int, holding: Holding) -> str:
    wanted = addresses[index]
    try:
        return await holding.address(family, wanted)
    except RangeFull:
        name = obj["metadata"].get("name", "")
        raise internal_error(f'failed to allocate a serviceIP for Service "{name}": range is full') from None
    except AllocationError as error:
        text = f"failed to allocate IP {wanted}: {error}"
        raise refused(obj, [invalid("spec.clusterIPs", addresses, text)]) from None


async def _change_addresses(obj: JsonObject, before: JsonObject, holding: Holding) -> None:
    spec = obj["spec"]
    if unchanged_preference(spec, before):
        return
    now_external, was_external = spec.get("type") == "ExternalName", before.get("type") == "ExternalName"
    old: list[str] = before.get("clusterIPs") or []
    if was_external:
        if not now_external:
            await _take_addresses(obj, holding)
        return
    if old[:1] == ["None"]:
        return
    if now_external:
        holding.freed_addresses += old
        return
    families, old_families = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    if len(old_families) == 1 and len(families) == 2:
        addresses = [*(spec.get("clusterIPs") or []), "", ""][:2]
        addresses[1] = await _take_address(obj, families[1], addresses, 1, holding)
        spec["clusterIPs"] = addresses
    elif len(old_families) == 2 and len(families) == 1:
        holding.freed_addresses += old[1:2]


async def _take_port(obj: JsonObject, index: int, wanted: int, holding: Holding) -> int:
    try:
        return await holding.port(wanted)
    except AllocationError as error:
        if not wanted:
            raise internal_error(f"failed to allocate a nodePort: {error}") from None
        raise refused(obj, [invalid(f"spec.ports[{index}].nodePort", wanted, str(error))]) from None


async def _take_ports(obj: JsonObject, holding: Holding) -> None:
    """Allocates node ports. Ports with the same number share one, even with different protocols."""
    spec = obj["spec"]
    allocates = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False
    ports = spec.get("ports") or []
    shared: dict[int, int] = {}
    for index, port in enumerate(ports):
        own = port.get("nodePort") or 0
        if not own and not allocates:
            continue
        number = port.get("port", 0)
        known = shared.get(number, 0)
        if not known:
            asked = next((p["nodePort"] for p in ports if p.get("port") == number and p.get("nodePort")), 0)
            port["nodePort"] = shared[number] = await _take_port(obj, index, asked, holding)
        elif not own:
            port["nodePort"] = known
        elif own != known:
            await _take_port(obj, index, own, holding)


async def _change_ports(obj: JsonObject, before: JsonObject, holding: Holding) -> None:
    spec = obj["spec"]
    allocates = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False
    had = node_ports(before)
    taken: set[int] = set()
    for index, port in enumerate(spec.get("ports") or ()):
        wanted = port.get("nodePort") or 0
        if wanted:
            if wanted not in had and wanted not in taken:
                await _take_port(obj, index, wanted, holding)
                taken.add(wanted)
        elif allocates:
            port["nodePort"] = await _take_port(obj, index, 0, holding)
    kept = set(node_ports(spec))
    holding.freed_ports += [port for port in had if port not in kept]


async def _take_health_check_port(spec: JsonObject, holding: Holding) -> None:
    wanted = spec.get("healthCheckNodePort") or 0
    try:
        spec["healthCheckNodePort"] = await holding.port(wanted)
    except AllocationError as error:
        which = f"requested HealthCheck NodePort {wanted}" if wanted else f"a HealthCheck NodePort {wanted}"
        raise internal_error(f"failed to allocate {which}: {error}") from None
