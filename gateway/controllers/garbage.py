"""The garbage collector: deletes objects whose owners are gone (page "Garbage Collection").

An object is deleted when none of its owners exists any more. If some owners exist, only the references to the others
are removed. Foreground deletion waits for the dependents that block it. Orphaning removes the owner references of the
dependents first. Each write has the uid and resourceVersion of the examined object as preconditions.

Owners and dependents may be objects of extension API servers. Work that calls these servers has its own queue and
workers. So an extension API server that hangs does not delay the objects of this server.
"""

from __future__ import annotations

import time
from collections.abc import Collection

from gateway.controllers.actor import Actor
from gateway.controllers.cache_sync import all_seen
from gateway.controllers.delivery_count import DeliveryCount
from gateway.controllers.holders import Here, Holder, There
from gateway.controllers.marks import unblocked, without_finalizer, without_owners
from gateway.controllers.owners import Classified, ClusterScoped, Owners, UnknownKind
from gateway.controllers.ownership import Graph, Owner, OwnershipNode, node_of, owners_of, policy_of, uid_of
from gateway.controllers.strangers import Strangers
from gateway.endpoints.endpoint import Endpoint
from gateway.endpoints.foreign import ForeignKind
from gateway.http.time_slices import next_turn
from gateway.jsontypes import JsonObject
from gateway.task_group import TaskGroup
from gateway.work_queue import Work, WorkQueue
from gateway.writing.deletion_plan import FOREGROUND, ORPHAN
from gateway.writing.options import DeleteOptions
from storage.entry import Change, ChangeType, Entry
from storage.keys import namespace_and_name

# Events are many, and are neither owners nor dependents (kube-controller-manager ignores them too).
_IGNORED = (b"events/",)
STEP = 1000  # dependents that are queued in one turn of the event loop
AT_ONCE = 16  # dependents of one owner that are orphaned concurrently
ABROAD = 16  # workers for objects that need calls of extension API servers
# seconds from the start in which extension API servers may still report dependents, and between two checks for that
STARTING, AGAIN = 30.0, 1.0


class GarbageCollector:
    """The controller. The queues hold:

    `queue`: keys of objects that may have to be deleted. `orphaning`: keys of deleted owners whose dependents are
    orphaned. `abroad`: keys of both, if extension API servers must be asked. `changes`: uids of owners with many
    dependents, which `spread` puts into `queue`.
    """

    def __init__(self, actor: Actor, telling: DeliveryCount) -> None:
        self.queue: WorkQueue[bytes] = WorkQueue("garbage_collector_attempt_to_delete", max_delay=300.0)
        self.orphaning: WorkQueue[bytes] = WorkQueue("garbage_collector_attempt_to_orphan", max_delay=300.0)
        self.abroad: WorkQueue[bytes] = WorkQueue("garbage_collector_other_servers", max_delay=60.0)
        self.changes: WorkQueue[str] = WorkQueue("garbage_collector_graph_changes")
        self.graph = Graph()
        self._actor, self._telling = actor, telling
        self._foreign = actor.endpoints.services.foreign_objects
        self._owners = Owners(actor.endpoints, actor.user)
        self._strangers = Strangers(actor)
        self._unknown: set[bytes] = set()  # objects with owners of kinds that are not served
        self._patient_until = time.monotonic() + STARTING
        root = actor.endpoints.services.store.cache.root
        self._ignored = frozenset(root + name for name in _IGNORED)
        self._prefixes: dict[bytes, Endpoint] = {}
        self._kinds: dict[bytes, tuple[str, str]] = {}  # by prefix: apiVersion and kind, also of kinds served earlier
        self._kinds_abroad: dict[bytes, ForeignKind] = {}
        self.kinds_changed()

    # incoming changes

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
                self._owners.note_deletion(uid, change.key, *self._kinds[prefix])
            self._gone(change.key, uid)
        else:
            self._seen(prefix, change.entry)

    def works(self) -> list[Work]:
        return [
            Work(self.queue, self.reconcile, 8),
            Work(self.orphaning, self.orphan, 4),
            Work(self.abroad, self.settle_abroad, ABROAD),
            Work(self.changes, self.spread, 1),
            self._strangers.work(),
        ]

    def authorities_changed(self) -> None:
        return None

    def kinds_changed(self) -> None:
        """The served resources have changed: unknown kinds of owners may be served now."""
        self._prefixes.clear()
        self._kinds_abroad = {kind.prefix: kind for kind in self._foreign.followed()}
        for key in self._unknown:
            self.queue.add(key)
        self._unknown.clear()

    def _seen(self, prefix: bytes, entry: Entry, *, anew: bool = False) -> None:
        """Updates the graph by a version of an object. `anew`: checks all of its owners, not only new ones."""
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

    def _check_new_owners(self, node: OwnershipNode, known: frozenset[Owner]) -> None:
        namespace = self._place(node)[0]
        for owner in node.owners:
            if owner not in known and (
                owner.uid in self.graph.waiting or not self._owners.seems_there(owner, namespace)
            ):
                self.queue.add(node.key)

    def _begins_to_wait(self, node: OwnershipNode) -> None:
        if node.policy == ORPHAN:
            self.orphaning.add(node.key)
            return
        self._look_at_dependents(node.uid)
        self.queue.add(node.key)

    def _let_go(self, before: OwnershipNode, owners: Collection[Owner]) -> None:
        """Queues the owners that wait for an object, except `owners`: it does not refer to them any more."""
        for owner in before.owners:
            if owner not in owners:
                self._look_at_waiting(owner.uid)

    def _look_at_waiting(self, uid: str) -> None:
        key = self.graph.waiting.get(uid)
        if key is not None:
            self.queue.add(key)

    def _gone(self, key: bytes, uid: str) -> None:
        self._unknown.discard(key)
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

    # reconciliation

    async def spread(self, uid: str) -> None:
        """Queues all dependents of an owner, in time slices."""
        for number, key in enumerate(self.graph.dependents(uid)):
            self.queue.add(key)
            if number % STEP == STEP - 1:
                await next_turn()

    async def reconcile(self, key: bytes) -> None:
        """Deletes an object whose owners are gone. Ends a foreground deletion whose dependents are gone."""
        node = self.graph.nodes.get(key)
        if node is not None and self._is_abroad(node):
            self.abroad.add(key)
        elif node is not None:
            await self._reconcile(node)

    async def orphan(self, key: bytes) -> None:
        """Removes the references to a deleted owner from its dependents, and then the owner's finalizer."""
        owner = self.graph.nodes.get(key)
        if owner is None or owner.policy != ORPHAN:
            return
        if self._may_miss_dependents():
            self.orphaning.add_after(key, AGAIN)
            return
        if not await self._knows_dependents(owner):
            return
        dependents = [self.graph.nodes[each] for each in self.graph.dependents(owner.uid)]
        if any(each.prefix in self._kinds_abroad for each in (owner, *dependents)):
            self.abroad.add(key)
        else:
            await self._orphan(owner)

    async def settle_abroad(self, key: bytes) -> None:
        """Like `reconcile` or `orphan`, for objects that need calls of extension API servers. Raises ForeignError."""
        node = self.graph.nodes.get(key)
        if node is not None:
            await (self._orphan(node) if node.policy == ORPHAN else self._reconcile(node))

    async def _reconcile(self, node: OwnershipNode) -> None:
        holder = self._holder(node)
        found = None if holder is None else await holder.look(*self._place(node))
        if holder is None or found is None or found.metadata.get("uid") != node.uid:
            return
        metadata = found.metadata
        if metadata.get("deletionTimestamp"):
            if policy_of(metadata) == FOREGROUND and not self.graph.is_blocked(node.uid):
                if self._may_miss_dependents():
                    self.queue.add_after(node.key, AGAIN)
                elif await self._knows_dependents(node) and not self.graph.is_blocked(node.uid):
                    await self._take_finalizer(node, holder, FOREGROUND)
            return
        owners = list(owners_of(metadata))
        if not owners:
            return
        try:
            classified = await self._owners.classify(owners, self._place(node)[0])
        except UnknownKind:
            self._unknown.add(node.key)
            return
        except ClusterScoped:
            self._suspect(node, metadata, owners)
            return
        if classified.absent:
            self._suspect(node, metadata, classified.absent)
        await self._settle(node, holder, classified, metadata, found.version)

    async def _settle(
        self, node: OwnershipNode, holder: Holder, owners: Classified, metadata: JsonObject, version: str
    ) -> None:
        """Deletes an object, or removes its references to absent owners, depending on its classified owners."""
        namespace, name = self._place(node)
        if owners.solid:
            uids = {owner.uid for owner in (*owners.absent, *owners.waiting)}
            if uids:
                await holder.change(namespace, name, lambda obj: without_owners(obj, uids), node.uid)
            return
        dependents = [self.graph.nodes[key] for key in self.graph.dependents(node.uid)]
        policy = {ORPHAN: "Orphan", FOREGROUND: "Foreground"}.get(policy_of(metadata), "Background")
        if owners.waiting and dependents:
            policy = "Foreground"
            if any(dependent.policy == FOREGROUND for dependent in dependents):  # else they would wait for each other
                await holder.change(namespace, name, unblocked, node.uid)
                version = ""
        options = DeleteOptions(propagation=policy, uid=node.uid, resource_version=version or None)
        await holder.delete(namespace, name, options)

    async def _orphan(self, owner: OwnershipNode) -> None:
        holder = self._holder(owner)
        if holder is None:
            return
        uids = {owner.uid}
        dependents = self.graph.dependents(owner.uid)
        pending = iter(dependents)

        async def worker() -> None:
            for dependent in pending:
                await self._forget_owners(dependent, uids)

        async with TaskGroup() as group:
            for _ in range(min(AT_ONCE, len(dependents))):
                group.create_task(worker())
        await self._take_finalizer(owner, holder, ORPHAN)

    async def _forget_owners(self, key: bytes, uids: Collection[str]) -> None:
        node = self.graph.nodes.get(key)
        holder = None if node is None else self._holder(node)
        if node is not None and holder is not None:
            namespace, name = self._place(node)
            await holder.change(namespace, name, lambda obj: without_owners(obj, uids), node.uid)

    async def _take_finalizer(self, node: OwnershipNode, holder: Holder, finalizer: str) -> None:
        namespace, name = self._place(node)
        await holder.change(namespace, name, lambda obj: without_finalizer(obj, finalizer), node.uid)

    def _suspect(self, node: OwnershipNode, metadata: JsonObject, owners: list[Owner]) -> None:
        endpoint, abroad = self._served(node.prefix), self._kinds_abroad.get(node.prefix)
        kind = abroad if endpoint is None else endpoint.resource
        if kind is None:
            return
        about: JsonObject = {"kind": kind.kind, "apiVersion": kind.api_version}
        about |= {key: metadata[key] for key in ("namespace", "name", "uid") if metadata.get(key)}
        for owner in owners:
            of = self._owners.endpoint(owner) or self._owners.foreign(owner)
            if of is not None:
                self._strangers.suspect(of, owner, about)

    def _may_miss_dependents(self) -> bool:
        """Whether extension API servers may have unknown dependents. kube-controller-manager waits as long for them."""
        if time.monotonic() >= self._patient_until:
            return False
        return bool(self._actor.endpoints.services.foreign.undiscovered()) or not self._foreign.complete

    async def _knows_dependents(self, node: OwnershipNode) -> bool:
        """Waits until the graph has the present state of every etcd. Returns whether the object is unchanged then.

        Within one etcd, the graph gets a dependent before the later deletion of its owner; across two, it may not.
        Raises Unavailable.
        """
        self._served(node.prefix)
        stores = {each.store for prefix, each in self._prefixes.items() if prefix not in self._ignored}
        if len(stores) > 1:
            for store in stores:
                await all_seen(store.reads)
            await self._telling.reached()
        now = self.graph.nodes.get(node.key)
        return now is not None and (now.uid, now.policy) == (node.uid, node.policy)

    def _is_abroad(self, node: OwnershipNode) -> bool:
        """Whether an object or one of its owners is on an extension API server."""
        return node.prefix in self._kinds_abroad or any(self._owners.is_abroad(owner) for owner in node.owners)

    def _holder(self, node: OwnershipNode) -> Holder | None:
        """The interface to the server that has an object; None if its kind is not served."""
        endpoint, kind = self._served(node.prefix), self._kinds_abroad.get(node.prefix)
        if endpoint is not None:
            return Here(self._actor, endpoint)
        return None if kind is None else There(self._actor, kind)

    def _served(self, prefix: bytes) -> Endpoint | None:
        """The endpoint of a key prefix; None if this server does not serve it."""
        if not self._prefixes:
            endpoints = self._actor.endpoints
            for resource in endpoints.registry.stored():
                endpoint = endpoints.of_resource(resource)
                self._prefixes[endpoint.cache.spec.prefix] = endpoint
        return self._prefixes.get(prefix)

    def _place(self, node: OwnershipNode) -> tuple[str, str]:
        """The namespace and name of an object."""
        namespace, name = namespace_and_name(node.key, node.prefix)
        return namespace, name
