"""Cluster IPs: an address is allocated by creating the IPAddress object of its name, so that no two services get it.

KEP-1880: the ranges are those of the ready ServiceCIDR objects. KEP-3070: dynamic addresses come from the upper part
of a range first, so that static ones in the lower part seldom collide with them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Protocol

from gateway.allocation.errors import AllocationError, RangeFull
from gateway.allocation.metrics import AllocationRange, counted
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.service_objects import family_of
from storage.entry import Entry

IP_ADDRESSES = GroupVersionResource("networking.k8s.io", "v1", "ipaddresses")
MANAGED_BY = "ipallocator.k8s.io"
_FAMILY_LABEL = "ipaddress.kubernetes.io/ip-family"
_MANAGER_LABEL = "ipaddress.kubernetes.io/managed-by"
_ALLOCATED = "provided IP is already allocated"
_ELSEWHERE = "the provided network does not match the current range"

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class AddressOwner:
    """The service that an address is for."""

    namespace: str
    name: str


def _is_network(text: str) -> bool:
    """Whether a text is a CIDR. Objects that other programs wrote to etcd are not validated."""
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


class ObjectWriter(Protocol):
    """Writes objects for the server itself, through all stages of a write. Raises StatusError for a refused write."""

    async def create(self, gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
        """Creates an object. Returns False if its name is taken."""
        ...

    async def delete(
        self, gvr: GroupVersionResource, namespace: str, name: str, *, resource_version: str | None = None
    ) -> None:
        """Deletes an object, if it exists. With `resource_version`, raises StatusError 409 for another version."""
        ...


class Stored(Protocol):
    """Reads objects from the watch cache, by their key in etcd."""

    def cached_entry(self, key: bytes) -> Entry | None: ...

    def cached_entries(self, prefix: bytes) -> list[Entry]: ...


class Addresses:
    """Allocates addresses and releases them."""

    def __init__(
        self, stored: Stored, etcd_prefix: str, default_ranges: tuple[str, ...], objects: ObjectWriter
    ) -> None:
        """`default_ranges` are used as long as there is no ServiceCIDR object; the first has the primary family."""
        self._stored, self._objects = stored, objects
        self._prefix = f"{etcd_prefix}/ipaddresses/"
        self._ranges_prefix = f"{etcd_prefix}/servicecidrs/".encode()
        self._defaults = default_ranges

    @property
    def families(self) -> tuple[str, ...]:
        """The families that services can have here, the primary one first."""
        return tuple(dict.fromkeys(family_of(text) for text in self._defaults))

    def ranges(self, family: str) -> list[Network]:
        """The ranges of a family that addresses may be taken from."""
        texts: list[str] = []
        entries = self._stored.cached_entries(self._ranges_prefix)
        for entry in entries:
            if entry.readable is not None:
                block: JsonObject = loads(b"{" + entry.readable.tail)
                if _is_ready(block):
                    texts += block["spec"].get("cidrs") or ()
        if not entries:
            texts = list(self._defaults)
        return [ip_network(text) for text in texts if family_of(text) == family and _is_network(text)]

    async def allocate(self, address: str, parent: AddressOwner, *, dry_run: bool) -> None:
        """Allocates the given address. Raises AllocationError."""
        with counted("static", dry_run) as taken:
            await self._allocate(address, parent, taken, dry_run=dry_run)

    async def _allocate(self, address: str, parent: AddressOwner, taken: AllocationRange, *, dry_run: bool) -> None:
        wanted = ip_address(address)
        ranges = self.ranges(family_of(address))
        home = next((block for block in ranges if _has(block, int(wanted))), None)
        if home is None:  # a dry run of kube-apiserver asks one range only, which has another message
            told = f"the provided IP ({wanted}) is not in the valid range. The range of valid IPs is "
            raise AllocationError(f"{told}{ranges[0]}" if dry_run and ranges else _ELSEWHERE)
        taken.cidr = str(home)
        if not dry_run and not await self.record(str(wanted), parent):
            raise AllocationError(_ALLOCATED)

    async def allocate_next(self, family: str, parent: AddressOwner, *, dry_run: bool) -> str:
        """Allocates any free address of a family, and returns it; a dry run the network's own. Raises RangeFull."""
        with counted("dynamic", dry_run) as taken:
            return await self._allocate_next(family, parent, taken, dry_run=dry_run)

    async def _allocate_next(self, family: str, parent: AddressOwner, taken: AllocationRange, *, dry_run: bool) -> str:
        for block in self.ranges(family):
            taken.cidr = str(block)
            if dry_run:
                return str(block.network_address)
            for number in _candidates(block):
                address = str(block.network_address + (number - int(block.network_address)))
                if self._stored.cached_entry(self._key(address)) is None and await self.record(address, parent):
                    return address
        raise RangeFull

    async def release(self, address: str) -> None:
        """Releases an address, if it is allocated."""
        await self._objects.delete(IP_ADDRESSES, "", str(ip_address(address)))

    async def record(self, address: str, parent: AddressOwner) -> bool:
        """Creates the IPAddress of an address for its service. Returns False if the address is allocated already."""
        labels = {_FAMILY_LABEL: family_of(address), _MANAGER_LABEL: MANAGED_BY}
        whose = {"resource": "services", "namespace": parent.namespace, "name": parent.name}
        obj = {"metadata": {"name": address, "labels": labels}, "spec": {"parentRef": whose}}
        return await self._objects.create(IP_ADDRESSES, "", obj)

    async def forget(self, address: str, revision: int) -> None:
        """Releases an address. Raises StatusError 409 if its IPAddress has changed since `revision`."""
        await self._objects.delete(IP_ADDRESSES, "", address, resource_version=str(revision))

    def _key(self, address: str) -> bytes:
        return (self._prefix + address).encode()


def _is_ready(block: JsonObject) -> bool:
    if block["metadata"].get("deletionTimestamp"):
        return False
    conditions = (block.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _bounds(block: Network) -> tuple[int, int]:
    """The first and last address that may be used: not the network's own, not IPv4's broadcast address."""
    last = int(block.broadcast_address)
    return int(block.network_address) + 1, last - 1 if block.version == 4 else last


def _has(block: Network, number: int) -> bool:
    first, last = _bounds(block)
    return first <= number <= last


def static_part(size: int) -> int:
    """How many addresses of a range of `size` are kept for static use as long as others are free."""
    if size <= 16:
        return 0
    return min(max(16, size // 16), 256)


def _candidates(block: Network) -> Iterator[int]:
    """Yields all usable addresses: first the upper part, then the lower one, each from a random address on."""
    first, last = _bounds(block)
    border = first + static_part(block.num_addresses)
    for low, high in ((border, last), (first, border - 1)):
        size = high - low + 1
        if size > 0:
            start = random.randrange(size)
            for step in range(size):
                yield low + (start + step) % size
