"""Finds owners that are in another namespace than their dependents, and writes an event for these dependents.

Such owner references are invalid (page "Owners and Dependents"). To find an owner, all objects of its kind must be
searched. One search finds many owners. Of extension API servers, only the kinds that this process follows are searched.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from gateway.controllers.actor import Actor
from gateway.controllers.events import warn_of
from gateway.controllers.ownership import Owner, uid_of
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.foreign import ForeignKind
from gateway.http.status import StatusError
from gateway.http.time_slices import next_turn
from gateway.jsontypes import JsonObject
from gateway.memo import Recent, memory_of
from gateway.work_queue import Work, WorkQueue

logger = logging.getLogger(__name__)

GATHER = 0.1  # seconds in which suspicions are gathered for one search
MOST = 1000  # the greatest number of waiting suspicions; more are dropped
REMEMBERED, SIZE = 4096, 2 << 20  # owners that were found nowhere, and bytes of their uids
AGAIN = 10.0  # seconds until an owner that was found nowhere is searched again: its list may come late
STEP = 2000  # keys that are searched in one turn of the event loop
COMPONENT = "garbage-collector-controller"


@dataclass(frozen=True, slots=True)
class _Suspicion:
    owner: Owner
    dependent: JsonObject  # an ObjectReference to the dependent

    @property
    def namespace(self) -> str:
        return str(self.dependent.get("namespace", ""))


class Strangers:
    """Searches for absent owners in other namespaces, and writes the events."""

    def __init__(self, actor: Actor, clock: Callable[[], float] = time.monotonic) -> None:
        self.queue: WorkQueue[bytes] = WorkQueue("garbage_collector_owners_elsewhere", max_delay=60.0)
        self._actor, self._clock = actor, clock
        self._suspicions: dict[bytes, tuple[Endpoint | ForeignKind, list[_Suspicion]]] = {}  # by owners' prefix
        self._waiting = 0
        # (owner's uid, dependent's namespace) -> when the owner was in no other namespace
        self._absent: Recent[tuple[str, str], float] = Recent(REMEMBERED, SIZE)

    def work(self) -> Work:
        """The queue with its reconcile function."""
        return Work(self.queue, self.reconcile, 1)

    def suspect(self, of: Endpoint | ForeignKind, owner: Owner, dependent: JsonObject) -> None:
        """Queues a search for an owner that is absent from its dependent's namespace.

        `of` is the owner's kind, `dependent` an ObjectReference.
        """
        namespaced, prefix = (
            (of.namespaced, of.prefix)
            if isinstance(of, ForeignKind)
            else (of.resource.namespaced, of.cache.spec.prefix)
        )
        looked = self._absent.find((owner.uid, dependent.get("namespace", "")))
        if not namespaced or (looked is not None and self._clock() - looked < AGAIN):
            return
        if self._waiting >= MOST:
            return
        self._waiting += 1
        self._suspicions.setdefault(prefix, (of, []))[1].append(_Suspicion(owner, dependent))
        self.queue.add_after(prefix, GATHER)

    async def reconcile(self, prefix: bytes) -> None:
        """Searches for all suspected owners of one kind, and writes the events."""
        of, suspicions = self._suspicions.pop(prefix, (None, []))
        self._waiting -= len(suspicions)
        if of is None:
            return
        names, uids = {each.owner.name for each in suspicions}, {each.owner.uid for each in suspicions}
        if isinstance(of, ForeignKind):
            places = await self._actor.endpoints.services.foreign_objects.places(of, names, uids)
        else:
            places = await _places(of, {name.encode() for name in names}, uids)
        for each in suspicions:
            if places.get(each.owner.uid, each.namespace) != each.namespace:
                await self._warn(each)
            else:
                self._remember(each)

    def _remember(self, suspicion: _Suspicion) -> None:
        """Notes that no other namespace has the owner, as far as is known now."""
        key = suspicion.owner.uid, suspicion.namespace
        self._absent.keep(key, self._clock(), memory_of(key))

    async def _warn(self, suspicion: _Suspicion) -> None:
        owner, namespace = suspicion.owner, suspicion.namespace
        which = f"{owner.api_version}/{owner.kind}, namespace: {namespace}, name: {owner.name}, uid: {owner.uid}"
        text = f'ownerRef [{which}] does not exist in namespace "{namespace}"'
        try:
            await warn_of(self._actor, suspicion.dependent, "OwnerRefInvalidNamespace", text, COMPONENT)
        except StatusError as error:
            logger.info("an event could not be written", extra={"error": error.message})


async def _places(endpoint: Endpoint, names: set[bytes], uids: set[str]) -> dict[str, str]:
    """By uid, the namespaces of the objects that have one of the names and one of the uids."""
    cache, start = endpoint.cache, len(endpoint.cache.spec.prefix)
    found: dict[str, str] = {}
    keys = cache.all_keys()
    for first in range(0, len(keys), STEP):
        for key in keys[first : first + STEP]:
            namespace, _, name = key[start:].partition(b"/")
            if name in names:
                entry = cache.get(key)
                if entry is not None and entry.readable is entry and (uid := uid_of(entry)) in uids:
                    found[uid] = namespace.decode()
        await next_turn()
    return found
