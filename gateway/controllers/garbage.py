"""The garbage collector: what depends on nothing that exists goes (page "Garbage Collection").

An object is deleted when none of its owners exists any more; references to those that don't are taken from one that has
others. Deletion in the foreground waits for the dependents that block it, orphaning takes the references to the owner
off them first. What is done to an object is done to the version that was looked at, or not at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from gateway.controllers.actor import Actor
from gateway.controllers.marks import unblocked, without_finalizer, without_owners
from gateway.controllers.owners import Classified, ClusterScoped, Owners, UnknownKind
from gateway.controllers.ownership import Graph, Node, Owner, node_of, owners_of, policy_of, uid_of
from gateway.controllers.queue import Work, WorkQueue
from gateway.controllers.strangers import Strangers
from gateway.endpoints.endpoint import Endpoint
from gateway.http.time_slices import next_turn
from gateway.jsontypes import JsonObject
from gateway.writing.deletion_plan import FOREGROUND, ORPHAN
from gateway.writing.options import DeleteOptions
from storage.entry import Change, ChangeType, Entry
from storage.keys import namespace_and_name

# Events come in crowds, own nothing and have no owners (kube-controller-manager ignores them too).
_IGNORED = (b"events/",)
STEP = 1000  # dependents that are queued in one turn
AT_ONCE = 16  # dependents of one owner that are orphaned at the same time


class GarbageCollector:
    """The controller. `queue` holds the keys of objects that may have to go, `orphaning` of owners to let go, `changes`
    the uids of owners with many dependents that are to be looked at.
    """

    def __init__(self, actor: Actor) -> None:
        self.queue: WorkQueue[bytes] = WorkQueue("garbage_collector_attempt_to_delete", max_delay=300.0)
        self.orphaning: WorkQueue[bytes] = WorkQueue("garbage_collector_attempt_to_orphan", max_delay=300.0)
        self.changes: WorkQueue[str] = WorkQueue("garbage_collector_graph_changes")
        self.graph = Graph()
        self._actor = actor
        self._owners = Owners(actor.endpoints)
        self._strangers = Strangers(actor)
        self._unknown: set[bytes] = set()  # objects with owners of kinds that are not served
        root = actor.endpoints.services.store.cache.root
        self._ignored = frozenset(root + name for name in _IGNORED)
        self._prefixes: dict[bytes, Endpoint] = {}
        self._kinds: dict[bytes, tuple[str, str]] = {}  # by prefix: apiVersion and kind, also of what was served once

    # what is seen

    def follows(self, prefix: bytes) -> bool:
        return prefix not in self._ignored

    def begin(self, prefix: bytes, keys: set[bytes]) -> None:
        endpoint = self._served(prefix)
        if endpoint is not None:
            self._kinds[prefix] = endpoint.resource.api_version, endpoint.resource.kind
        for node in self.graph.of_resource(prefix):
            if node.key not in keys:
                self._gone(node.key, node.uid)

    def state(self, prefix: bytes, entry: Entry) -> None:
        self._seen(prefix, entry, anew=True)

    def change(self, prefix: bytes, change: Change) -> None:
        if change.type is ChangeType.DELETED:
            uid = uid_of(change.entry)
            if self.graph.count(uid) and prefix in self._kinds:
                self._owners.gone(uid, change.key, *self._kinds[prefix])
            self._gone(change.key, uid)
        else:
            self._seen(prefix, change.entry)

    def works(self) -> list[Work]:
        return [
            Work(self.queue, self.reconcile, 8),
            Work(self.orphaning, self.orphan, 4),
            Work(self.changes, self.spread, 1),
            self._strangers.work(),
        ]

    def kinds_changed(self) -> None:
        """What is served has changed: owners may be known now."""
        self._prefixes.clear()
        for key in self._unknown:
            self.queue.add(key)
        self._unknown.clear()

    def _seen(self, prefix: bytes, entry: Entry, *, anew: bool = False) -> None:
        """Takes in a version of an object; `anew` takes nothing for known that was known of it."""
        node = node_of(prefix, entry)
        before = self.graph.nodes.get(entry.key)
        if node is None:
            if before is not None:
                self._let_go(before, frozenset())
                self.graph.remove(entry.key)
            return
        self.graph.put(node)
        known = frozenset[Owner]()
        if before is not None and before.uid == node.uid:
            known = frozenset() if anew else frozenset(before.owners)
            self._let_go(before, frozenset(node.owners))
        if not node.deleting and node.owners:
            self._check_new_owners(node, known)
        if node.policy and (anew or before is None or before.policy != node.policy):
            self._begins_to_wait(node)

    def _check_new_owners(self, node: Node, known: frozenset[Owner]) -> None:
        namespace = self._place(node)[0]
        for owner in node.owners:
            if owner not in known and (
                owner.uid in self.graph.waiting or not self._owners.seems_there(owner, namespace)
            ):
                self.queue.add(node.key)

    def _begins_to_wait(self, node: Node) -> None:
        if node.policy == ORPHAN:
            self.orphaning.add(node.key)
            return
        self._look_at_dependents(node.uid)
        self.queue.add(node.key)

    def _let_go(self, before: Node, owners: Collection[Owner]) -> None:
        """An object no longer refers to owners, or blocks them no more: some of them may wait for that."""
        for owner in before.owners:
            if owner not in owners:
                self._look_at_waiting(owner.uid)

    def _look_at_waiting(self, uid: str) -> None:
        key = self.graph.waiting.get(uid)
        if key is not None:
            self.queue.add(key)

    def _gone(self, key: bytes, uid: str) -> None:
        node = self.graph.remove(key)
        if node is not None:
            self._let_go(node, ())
        self._look_at_dependents(uid)

    def _look_at_dependents(self, uid: str) -> None:
        if self.graph.count(uid) > STEP:
            self.changes.add(uid)
            return
        for key in self.graph.dependents(uid):
            self.queue.add(key)

    # what is done

    async def spread(self, uid: str) -> None:
        """Has all dependents of an owner looked at, in pieces that hold up nobody."""
        for number, key in enumerate(self.graph.dependents(uid)):
            self.queue.add(key)
            if number % STEP == STEP - 1:
                await next_turn()

    async def reconcile(self, key: bytes) -> None:
        """Deletes an object whose owners are gone, or lets it go when it has waited for its dependents."""
        node = self.graph.nodes.get(key)
        endpoint = None if node is None else self._endpoint(node)
        if node is None or endpoint is None:
            return
        stored = endpoint.store.cached(key)
        if stored is None:
            return
        metadata = endpoint.parse(stored.value)["metadata"]
        if metadata.get("uid") != node.uid:
            return
        if metadata.get("deletionTimestamp"):
            if policy_of(metadata) == FOREGROUND:
                await self._go_in_foreground(node, endpoint)
            return
        owners = list(owners_of(metadata))
        if not owners:
            return
        namespace, _ = self._place(node)
        try:
            classified = await self._owners.classify(owners, namespace)
        except UnknownKind:
            self._unknown.add(key)
            return
        except ClusterScoped:
            self._suspect(endpoint, metadata, owners)
            return
        if classified.absent:
            self._suspect(endpoint, metadata, classified.absent)
        await self._settle(node, endpoint, classified, metadata, str(stored.revision))

    async def _settle(
        self, node: Node, endpoint: Endpoint, owners: Classified, metadata: JsonObject, version: str
    ) -> None:
        """Does what follows from what is known of an object's owners."""
        namespace, name = self._place(node)
        if owners.solid:
            uids = {owner.uid for owner in (*owners.absent, *owners.waiting)}
            if uids:
                await self._actor.change(endpoint, namespace, name, lambda obj: without_owners(obj, uids), uid=node.uid)
            return
        dependents = [self.graph.nodes[key] for key in self.graph.dependents(node.uid)]
        policy = {ORPHAN: "Orphan", FOREGROUND: "Foreground"}.get(policy_of(metadata), "Background")
        if owners.waiting and dependents:
            policy = "Foreground"
            if any(dependent.policy == FOREGROUND for dependent in dependents):  # or they would wait for each other
                await self._actor.change(endpoint, namespace, name, unblocked, uid=node.uid)
                version = ""
        options = DeleteOptions(propagation=policy, uid=node.uid, resource_version=version or None)
        await self._actor.delete(endpoint, namespace, name, options)

    async def _go_in_foreground(self, node: Node, endpoint: Endpoint) -> None:
        """An owner goes once nothing blocks it. Its dependents were queued when it was seen to wait."""
        if not self.graph.is_blocked(node.uid):
            await self._take_finalizer(node, endpoint, FOREGROUND)

    async def orphan(self, key: bytes) -> None:
        """Takes the references to an owner off its dependents, and then lets it go."""
        owner = self.graph.nodes.get(key)
        endpoint = None if owner is None else self._endpoint(owner)
        if owner is None or endpoint is None or owner.policy != ORPHAN:
            return
        uids = {owner.uid}
        dependents = self.graph.dependents(owner.uid)
        pending = iter(dependents)

        async def worker() -> None:
            for dependent in pending:
                await self._forget_owners(dependent, uids)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(AT_ONCE, len(dependents))):
                group.create_task(worker())
        await self._take_finalizer(owner, endpoint, ORPHAN)

    async def _forget_owners(self, key: bytes, uids: Collection[str]) -> None:
        node = self.graph.nodes.get(key)
        endpoint = None if node is None else self._endpoint(node)
        if node is not None and endpoint is not None:
            namespace, name = self._place(node)
            await self._actor.change(endpoint, namespace, name, lambda obj: without_owners(obj, uids), uid=node.uid)

    async def _take_finalizer(self, node: Node, endpoint: Endpoint, finalizer: str) -> None:
        namespace, name = self._place(node)
        await self._actor.change(endpoint, namespace, name, lambda obj: without_finalizer(obj, finalizer), uid=node.uid)

    def _suspect(self, endpoint: Endpoint, metadata: JsonObject, owners: list[Owner]) -> None:
        for owner in owners:
            served = self._owners.endpoint(owner)
            if served is not None:
                self._strangers.suspect(served, owner, endpoint.resource, metadata)

    def _endpoint(self, node: Node) -> Endpoint | None:
        """What serves an object now; None when nothing does."""
        return self._served(node.prefix)

    def _served(self, prefix: bytes) -> Endpoint | None:
        if not self._prefixes:
            endpoints = self._actor.endpoints
            for resource in endpoints.registry.stored():
                endpoint = endpoints.of_resource(resource)
                self._prefixes[endpoint.cache.spec.prefix] = endpoint
        return self._prefixes.get(prefix)

    def _place(self, node: Node) -> tuple[str, str]:
        """Namespace and name of an object."""
        namespace, name = namespace_and_name(node.key, node.prefix)
        return namespace, name
