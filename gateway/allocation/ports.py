"""Node ports: one bitmap for all of them in etcd, changed by compare-and-swap.

It is the RangeAllocation that kube-apiserver keeps at ranges/servicenodeports; KEP-3668 splits the range: the
lower part is for static ports, the upper one for dynamic ports.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterable

from gateway.allocation.errors import AllocationError, RangeFull
from gateway.allocation.metrics import port_counted
from gateway.jsontypes import JsonObject, dumps, loads
from storage.change import KEEP, Decision, Put, change
from storage.errors import CorruptObject, StoredObject
from storage.protocol import Store

_ALLOCATED = "provided port is already allocated"
_PROTOBUF = b"k8s\x00"


class NodePorts:
    """Allocates ports and releases them. A method returns after etcd has committed its change."""

    def __init__(self, store: Store, etcd_prefix: str, first: int, last: int) -> None:
        self._store = store
        self._key = f"{etcd_prefix}/ranges/servicenodeports".encode()
        self.first, self.last = first, last
        self._known: StoredObject | None = None

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    async def allocate(self, port: int) -> None:
        """Allocates the given port. Raises AllocationError."""
        bit = self._bit(port)

        def take(bits: int) -> int:
            if bits & bit:
                raise AllocationError(_ALLOCATED)
            return bits | bit

        with port_counted("static"):
            await self._change(take)

    async def allocate_next(self) -> int:
        """Allocates and returns any free port. Raises RangeFull."""
        taken: list[int] = []

        def take(bits: int) -> int:
            taken[:] = [self._free(bits)]
            return bits | 1 << taken[0]

        with port_counted("dynamic"):
            await self._change(take)
        return self.first + taken[0]

    async def release(self, ports: Iterable[int]) -> None:
        """Releases ports. Those that are not allocated, or outside the range, are ignored."""
        mask = self._mask(ports)
        if mask:
            await self._change(lambda bits: bits & ~mask)

    async def is_taken(self, port: int) -> bool:
        """Whether a port is allocated in etcd now; False for a port outside the range."""
        if not self.first <= port <= self.last:
            return False
        self._known = await self._store.get(self._key)
        return bool(self._bits(self._known) & 1 << (port - self.first))

    async def taken(self) -> set[int]:
        """All allocated ports, as etcd has them now."""
        self._known = await self._store.get(self._key)
        bits = self._bits(self._known)
        return {self.first + offset for offset in range(self.size) if bits >> offset & 1}

    async def take(self, ports: Iterable[int]) -> None:
        """Marks ports as allocated, even if they are already. Those outside the range are ignored."""
        mask = self._mask(ports)
        if mask:
            await self._change(lambda bits: bits | mask)

    def _mask(self, ports: Iterable[int]) -> int:
        mask = 0
        for port in ports:
            if self.first <= port <= self.last:
                mask |= 1 << (port - self.first)
        return mask

    def _bit(self, port: int) -> int:
        if not self.first <= port <= self.last:
            text = f"provided port is not in the valid range. The range of valid ports is {self.first}-{self.last}"
            raise AllocationError(text)
        return 1 << (port - self.first)

    def _free(self, bits: int) -> int:
        border = static_part(self.size)
        for low, high in ((border, self.size), (0, border)):
            free = [offset for offset in range(low, high) if not bits >> offset & 1]
            if free:
                return random.choice(free)
        raise RangeFull

    async def _change(self, change_bits: Callable[[int], int]) -> None:
        """Applies `change_bits` to the current bitmap, again if another replica has changed it meanwhile."""

        async def make(current: StoredObject | None) -> Decision:
            bits = self._bits(current)
            wanted = change_bits(bits)
            return KEEP if wanted == bits else Put(self._value(wanted))

        done = await change(self._store, self._key, make, start=self._known)
        self._known = done.after

    def _value(self, bits: int) -> bytes:
        data = bits.to_bytes((bits.bit_length() + 7) // 8, "big")
        return dumps(
            {
                "kind": "RangeAllocation",
                "apiVersion": "v1",
                "metadata": {},
                "range": f"{self.first}-{self.last}",
                "data": base64.b64encode(data).decode(),
            }
        )

    def _bits(self, stored: StoredObject | None) -> int:
        """The bitmap as a number; 0 if there is none, or if it is for another range. Raises CorruptObject."""
        if stored is None:
            return 0
        try:
            if stored.value.startswith(_PROTOBUF):
                spec, data = _from_protobuf(stored.value[len(_PROTOBUF) :])
            else:
                obj: JsonObject = loads(stored.value)
                spec, data = obj.get("range", ""), base64.b64decode(obj.get("data") or "")
        except (ValueError, TypeError, AttributeError, IndexError) as error:
            raise CorruptObject(stored.key, stored.revision, f"it is not a RangeAllocation: {error}") from None
        return int.from_bytes(data, "big") if spec == f"{self.first}-{self.last}" else 0


def static_part(size: int) -> int:
    """How many ports of a range of `size` are kept for static use as long as others are free."""
    if size <= 16:
        return 0
    return min(max(16, size // 32), 128)


def _from_protobuf(envelope: bytes) -> tuple[str, bytes]:
    """Range and data of a RangeAllocation that a kube-apiserver wrote: fields 2 and 3 of the envelope's field 2."""
    raw = _fields(envelope).get(2, b"")
    inner = _fields(raw)
    return inner.get(2, b"").decode(), inner.get(3, b"")


def _fields(message: bytes) -> dict[int, bytes]:
    """The length-delimited fields of a protobuf message."""
    found: dict[int, bytes] = {}
    position = 0
    while position < len(message):
        tag, position = _varint(message, position)
        if tag & 7 != 2:
            _, position = _varint(message, position)
            continue
        length, position = _varint(message, position)
        found[tag >> 3] = message[position : position + length]
        position += length
    return found


def _varint(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        value |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return value, position
        shift += 7
