"""Charging writes to the quotas of their namespace: with the object, or in groups just before (groups.py).

kube-apiserver charges by a write of its own before the object's; both work on one etcd. What is in another etcd than
quotas is charged as kube-apiserver does it: no transaction has both.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TypeVar
from weakref import WeakValueDictionary

from gateway.quotas.amounts import Amounts
from gateway.quotas.checking import Exceeded, Forbidden, Uncovered
from gateway.quotas.groups import Line
from gateway.quotas.known import QUOTAS, Charged, KnownQuotas
from gateway.quotas.quota import Quota
from gateway.quotas.recounts import Recounts
from storage.cache import ResourceCache
from storage.change import Changed, Swapping
from storage.store import EtcdStore, Stores

__all__ = ["Charged", "Charges", "Charging"]

T = TypeVar("T")

OTHERS = 6.0  # seconds at the most that a refusal waits for what other servers have under way


class Charges:
    """What this process charges. Writes of a namespace are charged one after the other, as they come, or together."""

    def __init__(self, stores: Stores) -> None:
        self._stores, self._root = stores, stores.main.cache.root
        self._store = stores.of_collection(self._root + QUOTAS)
        self._known = KnownQuotas(self._store, stores)
        self._quotas: ResourceCache | None = None  # once it is known
        self._lines: WeakValueDictionary[tuple[str, EtcdStore], Line] = WeakValueDictionary()

    @cached_property
    def _recounts(self) -> Recounts:
        return Recounts(self._store.cache, self._known.prefix)

    def are_apart(self, resource: bytes) -> bool:
        """Whether the objects of a resource (the prefix of its keys, below the root) are in another etcd."""
        return self._of(resource) is not self._store

    def _of(self, resource: bytes) -> EtcdStore:
        return self._stores.of_collection(self._root + resource)

    def concern(self, namespace: str) -> bool:
        """Whether a namespace has quotas."""
        quotas = self._quotas
        if quotas is None:
            quotas = self._quotas = self._store.cache.of_key(self._known.prefix + b"x")
            if quotas is None:
                return False
        return bool(quotas.of_namespace(namespace))

    def check(self, charged: Charged) -> dict[Quota, Amounts]:
        """What the usage of each quota becomes. Raises Forbidden, Uncovered."""
        return self._known.check(charged)

    def has_room(self, charged: Charged) -> dict[Quota, Amounts] | None:
        """What is to be charged, where it is found out at once that there is room; else None: `admit` finds out."""
        try:
            return self.check(charged)
        except (Forbidden, Uncovered):
            return None

    async def admit(self, charged: Charged) -> bool:
        """Whether there is something to be charged. Raises what `charged.refuse` makes."""

        async def attempt() -> bool:
            try:
                return bool(self.check(charged))
            except Exceeded:
                line = self._lines.get((charged.namespace, self._of(charged.resource)))
                if line is None or not line.busy:
                    raise
            await line.room(charged)
            return True

        return await self.tried(charged, attempt)

    async def tried(self, charged: Charged, attempt: Callable[[], Awaitable[T]]) -> T:
        """What `attempt` returns, once there is room if some has been freed. Raises what `charged.refuse` makes."""
        fresh, deadline, counted = False, 0.0, 0
        while True:
            try:
                return await attempt()
            except Exceeded as error:
                deadline = deadline or time.monotonic() + OTHERS
                if not fresh:
                    fresh = await self._store.reads.fresh()
                    if fresh:
                        continue
                if time.monotonic() < deadline and await self._recounts.others(charged.namespace):
                    continue
                if time.monotonic() < deadline + OTHERS:
                    counted = await self._recounted(charged, error.revision, counted)
                    if counted:
                        continue
                raise charged.refuse(error) from None
            except (Forbidden, Uncovered) as error:
                raise charged.refuse(error) from None

    async def _recounted(self, charged: Charged, revision: int, counted: int) -> int:
        """Not 0 if some of what was freed is counted in time, after a refusal by a quota of a revision.

        `counted` is what this said before.
        """
        resource, where = self._root + charged.resource, self._of(charged.resource)
        if charged.apart:
            return await self._recounts.wait_apart(where.cache.of_key(resource + b"x"), charged.namespace)
        return await self._recounts.wait(resource, charged.namespace, revision, counted)

    def line(self, charged: Charged) -> Line:
        """The queue of the writes of a namespace that are to be charged; writes to another etcd have one of their own,
        so that they hold up none when that is away.
        """
        place = charged.namespace, self._of(charged.resource)
        found = self._lines.get(place)
        if found is None:
            found = self._lines[place] = Line(self._known, charged.namespace)
        return found


class Charging:
    """The `Charge` (storage/change.py) of a write."""

    def __init__(self, charges: Charges, charged: Charged) -> None:
        self._charges, self._charged = charges, charged

    async def carried(self, write: Swapping) -> Changed:
        line = self._charges.line(self._charged)
        try:
            return await line.made(self._charged, write)
        except (Forbidden, Uncovered):
            return await self._charges.tried(self._charged, lambda: line.made(self._charged, write))
