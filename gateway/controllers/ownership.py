"""The graph of owners and dependents for garbage collection, updated with each change.

It has only objects with owners, and objects that are being deleted with a propagation policy. Whether an owner exists
is not in the graph: `Owners` looks it up.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from gateway.jsontypes import JsonObject, loads
from gateway.writing.deletion_plan import FOREGROUND, ORPHAN
from storage.entry import Entry

_OWNERS, _DELETED, _UID = b'"ownerReferences":[', b'"deletionTimestamp":"', b'"uid":"'


class Owner(NamedTuple):
    """An owner reference."""

    uid: str
    api_version: str
    kind: str
    name: str
    blocks: bool = False  # blockOwnerDeletion


@dataclass(frozen=True, slots=True)
class OwnershipNode:
    """An object that has owners or whose deletion waits for its dependents."""

    prefix: bytes  # the key prefix of its resource
    key: bytes
    uid: str
    owners: tuple[Owner, ...]
    policy: str = ""  # if it is being deleted: its finalizer ORPHAN or FOREGROUND
    deleting: bool = False


class Graph:
    """Nodes by key, and the dependents by the uid of their owner."""

    def __init__(self) -> None:
        self.nodes: dict[bytes, OwnershipNode] = {}
        self.waiting: dict[str, bytes] = {}  # uid -> key of objects in foreground deletion
        self._dependents: dict[str, set[bytes]] = {}
        self._uids: dict[str, str] = {}  # shares one string between all references to an owner

    def put(self, node: OwnershipNode) -> OwnershipNode | None:
        """Adds or replaces the node of an object. Returns the previous node."""
        before = self.remove(node.key)
        owners = tuple(owner._replace(uid=self._uids.setdefault(owner.uid, owner.uid)) for owner in node.owners)
        node = OwnershipNode(node.prefix, node.key, node.uid, owners, node.policy, node.deleting)
        self.nodes[node.key] = node
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, set()).add(node.key)
        if node.policy == FOREGROUND:
            self.waiting[node.uid] = node.key
        return before

    def remove(self, key: bytes) -> OwnershipNode | None:
        """Removes the node of an object, and returns it."""
        node = self.nodes.pop(key, None)
        if node is None:
            return None
        for owner in node.owners:
            keys = self._dependents.get(owner.uid)
            if keys is not None:
                keys.discard(key)
                if not keys:
                    del self._dependents[owner.uid]
                    self._uids.pop(owner.uid, None)
        self.waiting.pop(node.uid, None)
        return node

    def dependents(self, uid: str) -> list[bytes]:
        """The keys of the objects that refer to an owner."""
        return list(self._dependents.get(uid, ()))

    def count(self, uid: str) -> int:
        """The number of objects that refer to an owner."""
        return len(self._dependents.get(uid, ()))

    def is_blocked(self, uid: str) -> bool:
        """Whether a dependent with blockOwnerDeletion blocks the foreground deletion of an owner."""
        nodes = (self.nodes[key] for key in self._dependents.get(uid, ()))
        return any(owner.blocks and owner.uid == uid for node in nodes for owner in node.owners)

    def of_resource(self, prefix: bytes) -> list[OwnershipNode]:
        """All nodes of one resource."""
        return [node for node in self.nodes.values() if node.prefix == prefix]


def node_of(prefix: bytes, entry: Entry) -> OwnershipNode | None:
    """The node of an object; None if the graph does not need one. Most objects are not even parsed."""
    tail = entry.tail
    if _OWNERS not in tail and _DELETED not in tail:
        return None
    metadata = loads(b"{" + tail)["metadata"]
    deleting = bool(metadata.get("deletionTimestamp"))
    policy = policy_of(metadata) if deleting else ""
    owners = tuple(owners_of(metadata))
    if not owners and not policy:
        return None
    return OwnershipNode(prefix, entry.key, metadata["uid"], owners, policy, deleting)


def owners_of(metadata: JsonObject) -> Iterable[Owner]:
    """The owner references of an object."""
    for reference in metadata.get("ownerReferences") or ():
        yield owner_of(reference)


def owner_of(reference: dict[str, Any]) -> Owner:
    """The Owner of a stored owner reference."""
    return Owner(
        reference.get("uid", ""),
        sys.intern(reference.get("apiVersion", "")),
        sys.intern(reference.get("kind", "")),
        reference.get("name", ""),
        bool(reference.get("blockOwnerDeletion")),
    )


def policy_of(metadata: JsonObject) -> str:
    """An object's propagation finalizer, "" for none. If it has both, ORPHAN wins."""
    finalizers = metadata.get("finalizers") or ()
    return next((name for name in (ORPHAN, FOREGROUND) if name in finalizers), "")


def uid_of(entry: Entry) -> str:
    """The uid of an object, found without parsing: only strings with escaped quotes come before it in the JSON."""
    tail = entry.tail
    start = tail.index(_UID) + len(_UID)
    return tail[start : tail.index(b'"', start)].decode()
