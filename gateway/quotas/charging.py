"""Charging a write to the quotas of its namespace: in the transaction that makes the write, or not at all.

The status of each quota is swapped beside the object, so that it says what is used at the very revision at which the
object is there, whoever else writes it: other gateways, kube-apiservers, a controller that counts anew. A write that
fails or is never made has charged nothing, and whoever counts at a revision counts what was charged up to it.
Kube-apiserver charges by a write of its own before the object's; so both agree on one etcd, and only its own charges
can be lost with a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar
from weakref import WeakValueDictionary

from gateway.jsontypes import dumps, loads
from gateway.kinds.metadata import now_text
from gateway.quotas.amounts import Amounts, written
from gateway.quotas.checking import Exceeded, Forbidden, Uncovered, check
from gateway.quotas.classes import CachedClasses
from gateway.quotas.evaluator import Evaluator, Written
from gateway.quotas.limited import Limited
from gateway.quotas.owning import own
from gateway.quotas.quota import Quota, quota_of
from gateway.quotas.recounts import Recounts
from storage.change import Changed, Swapping
from storage.entry import MARK, Entry
from storage.errors import BesideChanged, StoredObject
from storage.protocol import Swap
from storage.store import EtcdStore

T = TypeVar("T")

MOST_KNOWN = 1000  # quotas whose present version is remembered until the cache has it


@dataclass(frozen=True, slots=True)
class Charged:
    """A write to be charged. `refuse` makes the error that the client gets."""

    namespace: str
    resource: bytes  # the prefix of its keys, below the root
    write: Written
    evaluator: Evaluator
    limited: Sequence[Limited]
    refuse: Callable[[Exception], Exception]


class Charges:
    """What this process charges. Writes of a namespace are charged one after the other, as they come."""

    def __init__(self, store: EtcdStore) -> None:
        self._store = store
        root = self._root = store.cache.root
        self._prefix = root + b"resourcequotas/"
        self._classes = CachedClasses(store, root)
        self._known: dict[bytes, Quota | int] = {}  # newer than the cache; the revision up to which one is gone
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @cached_property
    def _recounts(self) -> Recounts:
        return Recounts(self._store.cache, self._prefix)

    def concern(self, namespace: str) -> bool:
        """Whether a namespace has quotas."""
        return bool(self._entries(namespace))

    def _entries(self, namespace: str) -> list[Entry]:
        return self._store.cached_entries(self._prefix + namespace.encode() + b"/")

    def quotas(self, namespace: str) -> list[Quota]:
        """The quotas of a namespace by name, as new as they are known here."""
        found = []
        for entry in self._entries(namespace):
            known = self._known.get(entry.key) if self._known else None
            if known is not None:
                if (known if isinstance(known, int) else known.revision) < entry.revision:
                    del self._known[entry.key]
                else:
                    if not isinstance(known, int):
                        found.append(known)
                    continue
            readable = entry.readable
            if readable is not None:
                found.append(_of_entry(readable))
        return found

    def check(self, charged: Charged) -> dict[Quota, Amounts]:
        """What the usage of each quota becomes. Raises Forbidden, Uncovered."""
        quotas = self.quotas(charged.namespace)
        return check(charged.write, charged.evaluator, quotas, charged.limited, self._classes)

    async def admit(self, charged: Charged) -> bool:
        """Whether there is something to be charged. Raises what `charged.refuse` makes."""

        async def attempt() -> bool:
            return bool(self.check(charged))

        return await self.tried(charged, attempt)

    async def tried(self, charged: Charged, attempt: Callable[[], Awaitable[T]]) -> T:
        """What `attempt` returns, once there is room if some has been freed. Raises what `charged.refuse` makes."""
        fresh = False
        while True:
            try:
                return await attempt()
            except Exceeded as error:
                if not fresh:
                    fresh = await self._store.reads.fresh()
                    if fresh:
                        continue
                if not await self._recounts.wait(self._root + charged.resource, charged.namespace, error.revision):
                    raise charged.refuse(error) from None
            except (Forbidden, Uncovered) as error:
                raise charged.refuse(error) from None

    def turn(self, namespace: str) -> asyncio.Lock:
        """What has to be held while something is charged in a namespace."""
        found = self._turns.get(namespace)
        if found is None:
            found = self._turns[namespace] = asyncio.Lock()
        return found

    def swaps(self, charged: Charged) -> list[Swap]:
        """The quotas with what they are charged. Raises Forbidden, Uncovered."""
        return [_swap(quota, used) for quota, used in self.check(charged).items()]

    def learn(self, swaps: Sequence[Swap], found: Sequence[StoredObject | None]) -> None:
        """Takes in how quotas are that are not as they were thought to be."""
        for swap, stored in zip(swaps, found, strict=True):
            if stored is None:
                self._know(swap.key, swap.expected)
            elif stored.revision != swap.expected and not stored.corrupt:
                self._know(swap.key, quota_of(swap.key, stored.value, stored.revision))

    def made(self, swaps: Sequence[Swap], revision: int) -> None:
        """Takes in what has been charged at a revision, where the cache has not seen it yet."""
        for swap in swaps:
            entry = self._store.cached_entry(swap.key)
            if entry is None or entry.revision < revision:
                self._know(swap.key, quota_of(swap.key, swap.value, revision))

    def _know(self, key: bytes, known: Quota | int) -> None:
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()  # nothing is lost by that: a swap of what is old is answered with what is new
        self._known[key] = known


class Charging:
    """The `Charge` (storage/change.py) of a write."""

    def __init__(self, charges: Charges, charged: Charged) -> None:
        self._charges, self._charged = charges, charged

    async def carried(self, write: Swapping) -> Changed:
        async def attempt() -> Changed:
            async with self._charges.turn(self._charged.namespace):
                return await self._in_turn(write)

        return await self._charges.tried(self._charged, attempt)

    async def _in_turn(self, write: Swapping) -> Changed:
        while True:
            swaps = self._charges.swaps(self._charged)
            try:
                changed = await write(swaps)
            except BesideChanged as lost:
                self._charges.learn(swaps, lost.found)
                continue
            self._charges.made(swaps, changed.revision)
            return changed


def _of_entry(entry: Entry) -> Quota:
    found = entry.recall(Quota)
    if found is None:
        found = quota_of(entry.key, entry.stored().value, entry.revision)
        entry.remember(Quota, found, 4 * entry.size)
    assert isinstance(found, Quota)
    return found


def _swap(quota: Quota, used: Amounts) -> Swap:
    """The quota with another usage, as etcd is to have it."""
    old = quota.value
    new = loads(old)
    new["status"]["used"] = written(used)
    own(new, old, {name for name, amount in used.items() if amount != quota.used.get(name)}, now_text())
    return Swap(quota.key, dumps(new) + MARK, quota.revision)
