"""Owners that are absent where they have to be because they are in another namespace: who refers to them is told so.

An owner in another namespace is none (page "Owners and Dependents"). Whether an absent one is there takes a look at all
objects of its kind, so that many suspicions are settled by one look.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass

from gateway.controllers.actor import Actor
from gateway.controllers.events import warn_of
from gateway.controllers.ownership import Owner, uid_of
from gateway.controllers.queue import Work, WorkQueue
from gateway.endpoints.endpoint import Endpoint
from gateway.http.status import StatusError
from gateway.http.time_slices import next_turn
from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource

logger = logging.getLogger(__name__)

GATHER = 0.1  # seconds in which suspicions are gathered
MOST = 1000  # suspicions that wait; more are not told of
REMEMBERED = 4096
STEP = 2000  # keys that are looked at in one turn
COMPONENT = "garbage-collector-controller"


@dataclass(frozen=True, slots=True)
class _Suspicion:
    owner: Owner
    resource: Resource  # of the object that refers to it
    metadata: JsonObject  # name, namespace and uid of that object

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace", ""))


class Strangers:
    """Looks absent owners up in other namespaces, and writes the events."""

    def __init__(self, actor: Actor) -> None:
        self.queue: WorkQueue[bytes] = WorkQueue("garbage_collector_owners_elsewhere", max_delay=60.0)
        self._actor = actor
        self._suspicions: dict[bytes, tuple[Endpoint, list[_Suspicion]]] = {}  # by the prefix of the owners' keys
        self._waiting = 0
        self._settled: OrderedDict[tuple[str, str], bool] = OrderedDict()  # (uid, namespace) -> whether it is elsewhere

    def work(self) -> Work:
        """What is done with the queue."""
        return Work(self.queue, self.reconcile, 1)

    def suspect(self, endpoint: Endpoint, owner: Owner, resource: Resource, metadata: JsonObject) -> None:
        """An object's owner is absent from its namespace; `endpoint` serves the kind that the owner is said to be."""
        namespace = metadata.get("namespace", "")
        if not endpoint.resource.namespaced or self._settled.get((owner.uid, namespace)) is False:
            return
        if self._waiting >= MOST:
            return
        self._waiting += 1
        prefix = endpoint.cache.spec.prefix
        meta: JsonObject = {key: metadata[key] for key in ("name", "namespace", "uid") if key in metadata}
        self._suspicions.setdefault(prefix, (endpoint, []))[1].append(_Suspicion(owner, resource, meta))
        self.queue.add_after(prefix, GATHER)

    async def reconcile(self, prefix: bytes) -> None:
        """Settles the suspicions about owners of one kind."""
        endpoint, suspicions = self._suspicions.pop(prefix, (None, []))
        self._waiting -= len(suspicions)
        if endpoint is None:
            return
        names = {each.owner.name.encode() for each in suspicions}
        places = await _places(endpoint, names, {each.owner.uid for each in suspicions})
        for each in suspicions:
            elsewhere = places.get(each.owner.uid, each.namespace) != each.namespace
            self._settle(each, elsewhere)
            if elsewhere:
                await self._warn(each)

    def _settle(self, suspicion: _Suspicion, elsewhere: bool) -> None:
        self._settled[suspicion.owner.uid, suspicion.namespace] = elsewhere
        if len(self._settled) > REMEMBERED:
            self._settled.popitem(last=False)

    async def _warn(self, suspicion: _Suspicion) -> None:
        owner, namespace = suspicion.owner, suspicion.namespace
        which = f"{owner.api_version}/{owner.kind}, namespace: {namespace}, name: {owner.name}, uid: {owner.uid}"
        text = f'ownerRef [{which}] does not exist in namespace "{namespace}"'
        what, reason = suspicion.resource, "OwnerRefInvalidNamespace"
        try:
            await warn_of(self._actor, what, suspicion.metadata, reason, text, COMPONENT)
        except StatusError as error:
            logger.info("an event was not written", extra={"error": error.message})


async def _places(endpoint: Endpoint, names: set[bytes], uids: set[str]) -> dict[str, str]:
    """The namespaces of the objects that have one of the names and one of the uids."""
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
