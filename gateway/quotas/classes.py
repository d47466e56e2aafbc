"""Looks up objects for the evaluator of ResourceClaims: DeviceClasses, and the pods of claims."""

from __future__ import annotations

from typing import Protocol

from gateway.jsontypes import JsonObject
from gateway.quotas.amounts import Amounts
from gateway.quotas.evaluators import pods
from storage.entry import Entry

EXTENDED_CLAIM = "resource.kubernetes.io/extended-resource-claim"


class Cached(Protocol):
    """The watch cache of a store."""

    def cached_entry(self, key: bytes) -> Entry | None: ...

    def cached_entries(self, prefix: bytes) -> list[Entry]: ...


class CachedClasses:
    """`Classes` (gateway/quotas/evaluator.py), looked up in the watch cache."""

    def __init__(self, store: Cached, root: bytes) -> None:
        self._store, self._root = store, root

    def extended_resource(self, device_class: str) -> str:
        found = self._object(f"deviceclasses/{device_class}")
        return "" if found is None else str((found.get("spec") or {}).get("extendedResourceName") or "")

    def has_class_of(self, extended_resource: str) -> bool:
        if extended_resource.startswith(pods.DEVICE_CLASS):
            return self._object(f"deviceclasses/{extended_resource.removeprefix(pods.DEVICE_CLASS)}") is not None
        classes = self._store.cached_entries(self._root + b"deviceclasses/")
        named = extended_resource.encode()
        return any(
            named in entry.tail and (entry.parsed().get("spec") or {}).get("extendedResourceName") == extended_resource
            for entry in classes
            if entry.readable is entry
        )

    def owner_usage(self, claim: JsonObject) -> Amounts:
        """{} unless claim and pod name each other. As long as the pod names no claim, its oldest claim counts."""
        meta = claim["metadata"]
        owner = _owner_of(claim)
        if owner is None:
            return {}
        uid, name = owner
        pod = self._object(f"pods/{meta['namespace']}/{name}")
        if pod is None or pod["metadata"].get("uid") != uid:
            return {}
        status = (pod.get("status") or {}).get("extendedResourceClaimStatus")
        if status is not None and status.get("resourceClaimName") != meta.get("name"):
            return {}
        if status is None and not self._is_first(claim, owner):
            return {}
        return pods.usage(pod, self)

    def _is_first(self, claim: JsonObject, owner: tuple[str, str]) -> bool:
        own = _age(claim)
        claims = self._store.cached_entries(self._root + f"resourceclaims/{claim['metadata']['namespace']}/".encode())
        named = EXTENDED_CLAIM.encode()
        others = (entry.parsed() for entry in claims if entry.readable is entry and named in entry.tail)
        return all(_age(other) >= own for other in others if _owner_of(other) == owner)

    def _object(self, path: str) -> JsonObject | None:
        entry = self._store.cached_entry(self._root + path.encode())
        readable = None if entry is None else entry.readable
        return None if readable is None else readable.parsed()


def _owner_of(claim: JsonObject) -> tuple[str, str] | None:
    """uid and name of the pod for whose extended resources a claim was made; None for other claims."""
    meta = claim["metadata"]
    if (meta.get("annotations") or {}).get(EXTENDED_CLAIM) != "true":
        return None
    for owner in meta.get("ownerReferences") or ():
        if owner.get("controller"):
            of_pod = owner.get("kind") == "Pod" and owner.get("apiVersion") == "v1"
            return (owner.get("uid", ""), owner.get("name", "")) if of_pod else None
    return None


def _age(claim: JsonObject) -> tuple[str, str]:
    """A key that sorts claims by age. A claim that is about to be created is the youngest."""
    meta = claim["metadata"]
    return meta.get("creationTimestamp") or "~", meta.get("name", "")
