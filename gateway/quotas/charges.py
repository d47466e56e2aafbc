"""Charges writes to the quotas of their namespace: in the object's transaction, or in groups just before (groups.py).

kube-apiserver charges in a separate write before that of the object; both ways work together on one etcd. Objects in
another etcd than the quotas are charged as in kube-apiserver, because no transaction can have both.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import TypeVar
from weakref import WeakValueDictionary

from gateway.quotas.amounts import Amounts
from gateway.quotas.check import Exceeded, Forbidden, Uncovered
from gateway.quotas.groups import WriteQueue
from gateway.quotas.known import QUOTAS, Charged, KnownQuotas
from gateway.quotas.quota import Quota
from gateway.quotas.recounts import Recounts
from storage.cache import ResourceCache
from storage.change import Changed, Swapping
from storage.store import EtcdStore, Stores

__all__ = ["Charged", "Charges", "Charging"]

T = TypeVar("T")

OTHERS = 6.0  # seconds, at most, that a refusal waits for writes that other servers have under way


class Charges:
    """Charges the writes of this process: those of a namespace in the order in which they come, alone or in groups."""

    def __init__(self, stores: Stores) -> None:
        self._stores, self._root = stores, stores.main.cache.root
        self._store = stores.of_collection(self._root + QUOTAS)
        self._known = KnownQuotas(self._store, stores)
        self._quotas: ResourceCache | None = None  # once it is known
        self._lines: WeakValueDictionary[tuple[str, EtcdStore], WriteQueue] = WeakValueDictionary()

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
        """The new usage of each quota that a write changes. Raises Forbidden, Uncovered."""
        return self._known.check(charged)

    def has_room(self, charged: Charged) -> dict[Quota, Amounts] | None:
        """The new usage of each quota if there is room now. None if there is none: then `admit` waits or refuses."""
        try:
            return self.check(charged)
        except (Forbidden, Uncovered):
            return None

    async def admit(self, charged: Charged) -> bool:
        """Waits for room for a write. Returns whether it changes a quota. Raises what `charged.refuse` makes."""

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
        """Returns what `attempt` returns. Tries it again while deletions or writes of others may free some room.

        Raises what `charged.refuse` makes.
        """
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
        """Waits for a recount after a refusal by a quota of `revision`. Returns 0 if there is none in time.

        `counted` is what the call before returned.
        """
        resource, where = self._root + charged.resource, self._of(charged.resource)
        if charged.apart:
            return await self._recounts.wait_apart(where.cache.of_key(resource + b"x"), charged.namespace)
        return await self._recounts.wait(resource, charged.namespace, revision, counted)

    def line(self, charged: Charged) -> WriteQueue:
        """The line of the writes of a namespace that are to be charged.

        Writes to another etcd have a line of their own: they hold up no others if that etcd is unreachable.
        """
        place = charged.namespace, self._of(charged.resource)
        found = self._lines.get(place)
        if found is None:
            found = self._lines[place] = WriteQueue(self._known, charged.namespace)
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
