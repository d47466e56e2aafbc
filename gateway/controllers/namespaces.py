"""The namespace controller: deletes the content of a namespace that is being deleted, and then its finalizer.

Pods are deleted first, and other kinds only after all pods are gone. The namespace's conditions report the remaining
objects (page "Namespaces"). The conditions and their messages are those of kube-controller-manager.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

from gateway.controllers.actor import Actor
from gateway.controllers.cache_sync import all_seen
from gateway.controllers.discovery_failure import RESOURCE as API_SERVICES
from gateway.controllers.discovery_failure import discovery_failure
from gateway.controllers.ownership import uid_of
from gateway.courtesy import give_way
from gateway.endpoints.endpoint import Endpoint
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, loads
from gateway.kinds.metadata import now_text
from gateway.work_queue import Work, WorkQueue
from gateway.writing.deleting_each import delete_each
from gateway.writing.options import DeleteOptions
from storage.entry import Change, ChangeType, Entry
from storage.errors import StorageError

FINALIZER = "kubernetes"
AT_ONCE = 4  # concurrent deletions: more are hardly faster, and GETs would wait for all of them
# seconds from a namespace's deletion until it is emptied; the client may empty it itself; kube-controller-manager: 5
GRACE = 0.1
SETTLE = 0.02  # seconds from a deletion in a namespace until the namespace is checked again: more usually follow
LATE = 90.0  # seconds after a namespace is gone in which requests that were admitted before may still create objects
RECHECK_INTERVAL = 15.0  # seconds until a namespace is checked again without any change in it

# condition -> reason and message of its status False
_WELL = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@dataclass(slots=True)
class Remains:
    """The objects that remain in a namespace after all were deleted once, and the failures."""

    resources: Counter[str] = field(default_factory=Counter)  # by "pods."
    finalizers: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    undiscovered: list[str] = field(default_factory=list)  # group versions without discovery documents

    def add(self, other: Remains) -> None:
        """Adds the remaining objects of other kinds."""
        self.resources += other.resources
        self.finalizers += other.finalizers
        self.failures += other.failures


class Namespaces:
    """The controller."""

    def __init__(self, actor: Actor) -> None:
        self.queue: WorkQueue[str] = WorkQueue("namespace", max_delay=60.0)
        self._actor = actor
        self._root = actor.endpoints.services.store.cache.root
        self._prefix = self._root + b"namespaces/"
        self._api_services = actor.of("apiregistration.k8s.io", "v1", API_SERVICES).collection("")
        self._ending: set[bytes] = set()  # namespaces whose contents are being deleted
        self._ended: OrderedDict[bytes, float] = OrderedDict()  # namespaces that are gone, and when they went

    def works(self) -> list[Work]:
        return [Work(self.queue, self.reconcile, 10)]

    def authorities_changed(self) -> None:
        return None

    def kinds_changed(self) -> None:
        for name in self._ending:
            self.queue.add(name.decode())

    # incoming changes

    def follows(self, prefix: bytes) -> bool:
        return True

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        if prefix == self._prefix:
            self._ending.clear()

    def state(self, prefix: bytes, entry: Entry) -> None:
        if prefix == self._prefix and b'"deletionTimestamp"' in entry.tail:
            self._ends(entry)

    def change(self, prefix: bytes, change: Change) -> None:
        if prefix == self._prefix:
            if change.type is ChangeType.DELETED:
                self._ends_now(change.key[len(prefix) :])
            elif b'"deletionTimestamp"' in change.entry.tail:
                self._ends(change.entry)
        elif prefix == self._api_services:
            self.kinds_changed()
        elif (self._ending or self._ended) and change.type is not ChangeType.MODIFIED:
            namespace = change.key[len(prefix) :].partition(b"/")[0]
            late = change.type is ChangeType.ADDED and namespace in self._ended
            if namespace in self._ending or late:
                self.queue.add_after(namespace.decode(), SETTLE)

    def _ends_now(self, name: bytes) -> None:
        """A namespace is gone. Requests that were admitted before its deletion may still create objects in it.

        If there are several etcds, such an object may even have been seen already, so the namespace is checked once.
        """
        self._ending.discard(name)
        if len(self._actor.endpoints.services.databases) > 1:
            self.queue.add_after(name.decode(), SETTLE)
        now = time.monotonic()
        self._ended[name] = now
        while self._ended and next(iter(self._ended.values())) < now - LATE:
            self._ended.popitem(last=False)

    def _ends(self, entry: Entry) -> None:
        obj = loads(b"{" + entry.tail)
        if obj["metadata"].get("deletionTimestamp") and FINALIZER in (obj.get("spec") or {}).get("finalizers", ()):
            name = entry.key[len(self._prefix) :]
            if name not in self._ending:
                self._ending.add(name)
                self.queue.add_after(name.decode(), GRACE)

    # reconciliation

    async def reconcile(self, name: str) -> None:
        """Empties a namespace that is being deleted, and removes its finalizer when it is empty."""
        namespaces = self._actor.of("", "v1", "namespaces")
        stored = await namespaces.store.latest(namespaces.key("", name))
        if stored is None:
            if name.encode() in self._ended:
                await self._clear(name)
            return
        namespace = namespaces.parse(stored.value)
        uid = namespace["metadata"]["uid"]
        if not namespace["metadata"].get("deletionTimestamp"):
            return
        if FINALIZER not in (namespace.get("spec") or {}).get("finalizers", ()):
            return
        remains = await self._empty(name, uid)
        await self._actor.change(
            self._actor.of("", "v1", "namespaces", "status"), name, name, lambda obj: tell(obj, remains), uid=uid
        )
        if remains.failures:
            raise RuntimeError(remains.failures[0])
        if remains.resources or remains.undiscovered:
            self.queue.add_after(name, RECHECK_INTERVAL)
            return
        await self._actor.change(self._actor.of("", "v1", "namespaces", "finalize"), name, name, _release, uid=uid)

    async def _empty(self, name: str, uid: str) -> Remains:
        """Deletes all objects in a namespace: first pods, and when they are gone all others."""
        foreign = self._actor.endpoints.services.foreign
        remains = Remains(undiscovered=foreign.undiscovered())
        pods = self._actor.of("", "v1", "pods")
        await self._delete_all(pods, name, uid, remains)
        if remains.resources:
            return remains
        for endpoint in self._deletable():
            if endpoint.resource.model is not pods.resource.model:
                await self._delete_served(endpoint, name, uid, remains)
        left = await foreign.empty(name, self._actor.user)
        remains.add(Remains(left.resources, left.finalizers, left.failures))
        return remains

    async def _delete_served(self, endpoint: Endpoint, namespace: str, uid: str, remains: Remains) -> None:
        """Deletes the objects of a kind. If its CRD changes meanwhile, repeats this with the new endpoint."""
        while True:
            counted = Remains()
            try:
                await self._delete_all(endpoint, namespace, uid, counted)
            except LookupError:
                if not endpoint.retired:
                    raise
            if not endpoint.retired:
                remains.add(counted)
                return
            prefix = endpoint.resource.storage_prefix
            served = next((each for each in self._deletable() if each.resource.storage_prefix == prefix), None)
            if served is None:
                return  # its CRD was deleted, and all objects with it
            endpoint = served

    async def _clear(self, name: str) -> None:
        """Deletes objects that were created in a namespace after it was gone.

        Lists the objects before it asks etcd for the namespace, so that a new namespace of that name is not emptied.
        """
        late = [(each, each.store.cached_entries(each.collection(name))) for each in self._deletable()]
        namespaces = self._actor.of("", "v1", "namespaces")
        if await namespaces.store.get(namespaces.key("", name)) is None:
            for endpoint, entries in late:
                await self._delete_each(endpoint, name, entries)

    def _deletable(self) -> list[Endpoint]:
        """The endpoints of all namespaced resources that can be deleted."""
        endpoints = self._actor.endpoints
        resources = [each for each in endpoints.registry.stored() if each.namespaced and "delete" in each.verbs]
        return [endpoints.of_resource(each) for each in resources]

    def _is_still(self, name: str, uid: str) -> bool:
        """Whether the cached namespace has this uid, so that cached objects are not those of a later namespace."""
        entry = self._actor.endpoints.services.stores.cached_entry(self._prefix + name.encode())
        return entry is not None and entry.readable is entry and uid_of(entry) == uid

    async def _delete_all(self, endpoint: Endpoint, namespace: str, uid: str, remains: Remains) -> None:
        entries = await self._seen(endpoint, namespace, uid)
        failures = await self._delete_each(endpoint, namespace, entries)
        if failures is None:
            return
        remains.failures += failures
        left = await self._seen(endpoint, namespace, uid)
        if left:
            resource = endpoint.resource
            remains.resources[f"{resource.resource}.{resource.group}"] = len(left)
            for entry in left:
                if entry.readable is entry and b'"finalizers":[' in entry.tail:
                    remains.finalizers.update(loads(b"{" + entry.tail)["metadata"].get("finalizers") or ())

    async def _seen(self, endpoint: Endpoint, namespace: str, uid: str) -> list[Entry]:
        """All objects of a kind in a namespace; none if the namespace is gone by now. Raises Unavailable."""
        namespaces = self._actor.of("", "v1", "namespaces").store
        await all_seen(endpoint.store.reads)
        entries = endpoint.store.cached_entries(endpoint.collection(namespace))
        if entries and namespaces is not endpoint.store:  # the uid must be checked against a later state than theirs
            await all_seen(namespaces.reads)
        return entries if self._is_still(namespace, uid) else []

    async def _delete_each(self, endpoint: Endpoint, namespace: str, entries: list[Entry]) -> list[str] | None:
        """Deletes objects. Returns the distinct error messages; None if there were no objects."""
        if not entries:
            return None
        failures: dict[str, None] = {}

        async def delete(entry: Entry) -> None:
            await give_way()
            object_name = entry.key.rpartition(b"/")[2].decode()
            try:
                options = DeleteOptions(propagation="Background", uid=uid_of(entry))
                await self._actor.delete(endpoint, namespace, object_name, options)
            except (StatusError, StorageError) as error:
                if not isinstance(error, StatusError) or error.reason != "Conflict":
                    failures.setdefault(str(error))

        await delete_each(entries, delete, AT_ONCE)
        return list(failures)


def _release(namespace: JsonObject) -> bool:
    finalizers = (namespace.get("spec") or {}).get("finalizers") or []
    if FINALIZER not in finalizers:
        return False
    namespace["spec"]["finalizers"] = [name for name in finalizers if name != FINALIZER]
    return True


def tell(namespace: JsonObject, remains: Remains) -> bool:
    """Sets a namespace's phase and conditions by what remains. Returns whether that changed them."""
    status = namespace.setdefault("status", {})
    changed: bool = status.get("phase") != "Terminating"
    status["phase"] = "Terminating"
    conditions: list[JsonObject] = status.setdefault("conditions", [])
    present = {condition.get("type"): condition for condition in conditions}
    trouble = _trouble(remains)
    for kind, well in _WELL.items():
        reason, message = trouble.get(kind, well)
        wanted = {"status": "True" if kind in trouble else "False", "reason": reason, "message": message}
        condition = present.get(kind)
        if condition is None:
            conditions.append({"type": kind, "lastTransitionTime": now_text(), **wanted})
        elif any(condition.get(key) != value for key, value in wanted.items()):
            if condition.get("status") != wanted["status"]:
                condition["lastTransitionTime"] = now_text()
            condition.update(wanted)
        else:
            continue
        changed = True
    return changed


def _trouble(remains: Remains) -> dict[str, tuple[str, str]]:
    """The conditions with the status True, with reason and message."""
    found = {}
    if remains.undiscovered:
        found["NamespaceDeletionDiscoveryFailure"] = ("DiscoveryFailed", discovery_failure(remains.undiscovered))
    if remains.failures:
        text = f"Failed to delete all resource types, {len(remains.failures)} remaining: {_joined(remains.failures)}"
        found["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", text)
    if remains.resources:
        listed = _joined(f"{name} has {count} resource instances" for name, count in remains.resources.items())
        found["NamespaceContentRemaining"] = ("SomeResourcesRemain", f"Some resources are remaining: {listed}")
    if remains.finalizers:
        listed = _joined(f"{name} in {count} resource instances" for name, count in remains.finalizers.items())
        text = f"Some content in the namespace has finalizers remaining: {listed}"
        found["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", text)
    return found


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(sorted(texts))
