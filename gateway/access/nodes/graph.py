"""Which nodes have to do with which objects, by the pods that run on them.

Kept up to date from the watch cache. What has changed is only noted; it is looked at when somebody asks, in pieces that
hold up nobody: most servers are asked about few nodes, and most changes of pods change nothing here.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
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
from storage.cache import ResourceCache, WatchCache
from storage.entry import ChangeType, Entry
from storage.tap import Batch, State, listen

PIECE = 0.005  # seconds that are worked off before others have their turn


class Kind(Enum):
    """The resources that the graph is made of, by group, version and plural."""

    POD = ("", "v1", "pods")
    VOLUME = ("", "v1", "persistentvolumes")
    ATTACHMENT = ("storage.k8s.io", "v1", "volumeattachments")
    SLICE = ("resource.k8s.io", "v1", "resourceslices")


_Key = tuple[str, str]  # namespace, name
_Object = tuple[str, str, str]  # plural, namespace, name


class NodeGraph:
    """What leads from objects to nodes."""

    def __init__(self) -> None:
        self._nodes: dict[_Object, Counter[str]] = {}  # how many pods of each node name the object
        self._pods: dict[_Key, tuple[str, tuple[_Object, ...]]] = {}  # node, and what the pod names
        self._volumes: dict[str, tuple[_Object, tuple[_Object, ...]]] = {}  # the claim, and the secrets
        self._users: dict[_Object, set[str]] = {}  # the volumes that name a secret
        self._changed: dict[tuple[Kind, _Key], Entry | None] = {}

    def follow(self, cache: WatchCache, resources: Mapping[Kind, ResourceCache]) -> Callable[[], None]:
        """Keeps itself up to date from caches; gives what ends it."""
        kinds = {resource: kind for kind, resource in resources.items()}
        prefixes = {kind: len(resource.spec.prefix) for kind, resource in resources.items()}

        def key_of(kind: Kind, entry: Entry) -> tuple[Kind, _Key]:
            namespace, _, name = entry.key[prefixes[kind] :].decode().rpartition("/")
            return kind, (namespace, name)

        def tell(batch: Batch) -> None:
            if isinstance(batch, State):
                self._clear()
                for resource, entries in batch.entries.items():
                    self._changed.update((key_of(kinds[resource], entry), entry) for entry in entries)
                return
            for told in batch.told:
                gone = told.change.type is ChangeType.DELETED
                self._changed[key_of(kinds[told.resource], told.change.entry)] = None if gone else told.change.entry

        return listen(cache, list(resources.values()), tell)

    async def is_related(self, node: str, plural: str, namespace: str, name: str) -> bool:
        """Whether a node has to do with an object."""
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

    def put(self, kind: Kind, obj: JsonObject) -> None:
        """Takes an object in place of the one of its name."""
        meta = obj["metadata"]
        key = (meta.get("namespace", ""), meta["name"])
        self.drop(kind, key)
        spec = obj.get("spec") or {}
        match kind:
            case Kind.POD if spec.get("nodeName"):
                self._hold(key, spec["nodeName"], tuple(dict.fromkeys(_references(obj))))
            case Kind.VOLUME if spec.get("claimRef"):
                claim = spec["claimRef"]
                secrets = tuple(dict.fromkeys(("secrets", *each) for each in volume_secrets(obj)))
                place = ("persistentvolumeclaims", claim.get("namespace", ""), claim.get("name", ""))
                self._volumes[key[1]] = (place, secrets)
                for secret in secrets:
                    self._users.setdefault(secret, set()).add(key[1])
            case Kind.ATTACHMENT | Kind.SLICE if spec.get("nodeName"):
                self._nodes[kind.value[2], *key] = Counter([spec["nodeName"]])

    def drop(self, kind: Kind, key: _Key) -> None:
        """Forgets an object."""
        match kind:
            case Kind.POD:
                node, named = self._pods.pop(key, ("", ()))
                for each in named:
                    count = self._nodes[each]
                    count[node] -= 1
                    if not count[node]:
                        del count[node]
                    if not count:
                        del self._nodes[each]
            case Kind.VOLUME:
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
                self.put(kind, entry.parsed())

    def _clear(self) -> None:
        for each in (self._nodes, self._pods, self._volumes, self._users, self._changed):
            each.clear()


def _references(pod: JsonObject) -> Iterator[_Object]:
    """What a pod names, itself included; of a mirror pod a kubelet has no need to read anything."""
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
