"""Which objects a node may read: those to which its pods refer.

The graph follows the watch cache. A change is only recorded; it is evaluated at the next request of a node, in time
slices. Most servers get requests of few nodes, and most changes of pods do not change the graph.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from enum import Enum

from gateway.access.nodes.references import (
    MIRROR,
    claim_names,
    config_map_names,
    resource_claim_names,
    secret_names,
    volume_secrets,
)
from gateway.jsontypes import JsonObject
from storage.cache import ResourceCache
from storage.entry import Entry
from storage.guard import guarded
from storage.keys import namespace_and_name

PIECE = 0.005  # seconds of one time slice; the event loop runs other tasks between two slices


class VertexType(Enum):
    """The resources in the graph, by group, version and plural."""

    POD = ("", "v1", "pods")
    VOLUME = ("", "v1", "persistentvolumes")
    ATTACHMENT = ("storage.k8s.io", "v1", "volumeattachments")
    SLICE = ("resource.k8s.io", "v1", "resourceslices")
    REQUEST = ("certificates.k8s.io", "v1", "podcertificaterequests")


_Key = tuple[str, str]  # namespace, name
_Object = tuple[str, str, str]  # plural, namespace, name
_Place = tuple[VertexType, _Key]
_KINDS = {(group, plural): kind for kind in VertexType for group, _, plural in (kind.value,)}


class NodeGraph:
    """The references from objects to the nodes that may read them."""

    name = "node-authorizer"  # in logs and metrics

    def __init__(self) -> None:
        self._nodes: dict[_Object, Counter[str]] = {}  # how many pods of each node name the object
        self._pods: dict[_Key, tuple[str, tuple[_Object, ...]]] = {}  # the pod's node, and the objects it refers to
        self._volumes: dict[str, tuple[_Object, tuple[_Object, ...]]] = {}  # the claim, and the secrets
        self._users: dict[_Object, set[str]] = {}  # the volumes that name a secret
        self._changed: dict[_Place, Entry | None] = {}

    # the methods of a follower of the cache (storage/followers.py): changes are recorded

    def clear(self) -> None:
        for each in (self._nodes, self._pods, self._volumes, self._users, self._changed):
            each.clear()

    def take(self, resource: ResourceCache, entry: Entry) -> None:
        self._changed[_place(resource, entry.key)] = entry

    def lose(self, resource: ResourceCache, entry: Entry) -> None:
        self._changed[_place(resource, entry.key)] = None

    def on_revision(self, revision: int) -> None:
        pass  # is_related evaluates the recorded changes

    # the rights of nodes

    async def is_related(self, node: str, plural: str, namespace: str, name: str) -> bool:
        """Whether a node may read an object, because a pod or volume on the node refers to it."""
        while self._changed:
            self._work_off()
            await asyncio.sleep(0)
        wanted = (plural, namespace, name)
        if node in self._nodes.get(wanted, ()):
            return True
        match plural:
            case "secrets":
                volumes = (self._volumes[each] for each in self._users.get(wanted, ()))
                return any(node in self._nodes.get(claim, ()) for claim, _ in volumes)
            case "persistentvolumes":
                volume = self._volumes.get(name)
                return volume is not None and node in self._nodes.get(volume[0], ())
        return False

    def put(self, kind: VertexType, obj: JsonObject) -> None:
        """Adds an object, or replaces the one of the same name."""
        meta = obj["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        self.drop(kind, key)
        spec = obj.get("spec") or {}
        match kind:
            case VertexType.POD if spec.get("nodeName"):
                self._hold(key, spec["nodeName"], tuple(dict.fromkeys(_references(obj))))
            case VertexType.VOLUME if spec.get("claimRef"):
                claim = spec["claimRef"]
                secrets = tuple(dict.fromkeys(("secrets", *each) for each in volume_secrets(obj)))
                place = ("persistentvolumeclaims", claim.get("namespace", ""), claim.get("name", ""))
                self._volumes[key[1]] = (place, secrets)
                for secret in secrets:
                    self._users.setdefault(secret, set()).add(key[1])
            case VertexType.ATTACHMENT | VertexType.SLICE | VertexType.REQUEST if spec.get("nodeName"):
                self._nodes[kind.value[2], *key] = Counter([spec["nodeName"]])

    def drop(self, kind: VertexType, key: _Key) -> None:
        """Removes an object."""
        match kind:
            case VertexType.POD:
                node, named = self._pods.pop(key, ("", ()))
                for each in named:
                    count = self._nodes[each]
                    count[node] -= 1
                    if not count[node]:
                        del count[node]
                    if not count:
                        del self._nodes[each]
            case VertexType.VOLUME:
                _, secrets = self._volumes.pop(key[1], ((), ()))
                for secret in secrets:
                    self._users[secret].discard(key[1])
                    if not self._users[secret]:
                        del self._users[secret]
            case _:
                self._nodes.pop((kind.value[2], *key), None)

    def _hold(self, key: _Key, node: str, named: tuple[_Object, ...]) -> None:
        self._pods[key] = (node, named)
        for each in named:
            self._nodes.setdefault(each, Counter())[node] += 1

    def _work_off(self) -> None:
        until = time.monotonic() + PIECE
        while self._changed and time.monotonic() < until:
            (kind, key), entry = self._changed.popitem()
            if entry is None:
                self.drop(kind, key)
            else:
                with guarded(self.name, entry):
                    self.put(kind, entry.parsed())


def _place(resource: ResourceCache, key: bytes) -> _Place:
    return _KINDS[resource.spec.group_resource], namespace_and_name(key, resource.spec.prefix)


def _references(pod: JsonObject) -> Iterator[_Object]:
    """The objects to which a pod refers, the pod included; of a mirror pod only the pod: a kubelet needs no others."""
    meta = pod["metadata"]
    namespace = meta.get("namespace", "")
    yield "pods", namespace, meta["name"]
    if MIRROR in (meta.get("annotations") or {}):
        return
    if account := (pod.get("spec") or {}).get("serviceAccountName"):
        yield "serviceaccounts", namespace, account
    for plural, names in (
        ("secrets", secret_names(pod)),
        ("configmaps", config_map_names(pod)),
        ("persistentvolumeclaims", claim_names(pod)),
        ("resourceclaims", resource_claim_names(pod)),
    ):
        for name in names:
            yield plural, namespace, name
