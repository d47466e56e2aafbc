"""Keeps volumes and claims while they are in use ("Persistent Volumes", "Storage Object in Use Protection")."""

from __future__ import annotations

from collections.abc import Callable

from gateway.admission.plugins.storage_protection import FINALIZERS
from gateway.controllers.cache_sync import all_seen
from gateway.controllers.keyed_controller import KeyedController, is_being_deleted
from gateway.controllers.marks import with_finalizer, without_finalizer
from gateway.jsontypes import JsonObject, loads
from storage.entry import Entry


class ClaimProtection(KeyedController):
    """Adds the finalizer to claims, and removes it from deleted claims that no scheduled pod uses.

    Its queue has keys of claims.
    """

    queue_name = "pvcprotection"
    resources = ("persistentvolumeclaims", "pods")

    def on_update(self, resource: str, entry: Entry) -> None:
        if resource == "persistentvolumeclaims":
            self.queue.add(entry.key)
        elif b'"deletionTimestamp":"' in entry.tail:
            self.on_delete(resource, entry)

    def on_delete(self, resource: str, entry: Entry) -> None:
        if resource == "pods" and (b'"persistentVolumeClaim":' in entry.tail or b'"ephemeral":' in entry.tail):
            pod = loads(b"{" + entry.tail)
            for name in claims_of(pod):
                self.queue.add(self.key("persistentvolumeclaims", pod["metadata"]["namespace"], name))

    async def reconcile(self, key: bytes) -> None:
        claim = self.cached(key)
        if claim is None:
            return
        meta, finalizer = claim["metadata"], FINALIZERS["persistentvolumeclaims"]
        change = wanted_change(claim, finalizer)
        if change is without_finalizer and await self._is_used(meta["namespace"], meta["name"]):
            return
        if change is not None:
            claims = self.actor.of("", "v1", "persistentvolumeclaims")
            await self.actor.change(
                claims, meta["namespace"], meta["name"], lambda obj: change(obj, finalizer), uid=meta["uid"]
            )

    async def _is_used(self, namespace: str, name: str) -> bool:
        """Whether a scheduled pod uses a claim. Raises StorageError if that is unknown: then the claim stays."""
        pods = self.key("pods", namespace)
        store = self.actor.endpoints.services.stores.of_collection(pods)
        await all_seen(store.reads)
        for found in store.cached_entries(pods):
            entry = found.readable or found  # the tail of a pod that was never readable raises StorageError
            if name.encode() in entry.tail or b'"ephemeral":' in entry.tail:
                pod = loads(b"{" + entry.tail)
                if (pod.get("spec") or {}).get("nodeName") and name in claims_of(pod):
                    return True
        return False


class VolumeProtection(KeyedController):
    """Adds the finalizer to volumes, and removes it from deleted volumes that are not bound.

    Its queue has keys of volumes.
    """

    queue_name = "pvprotection"
    resources = ("persistentvolumes",)

    def on_update(self, resource: str, entry: Entry) -> None:
        self.queue.add(entry.key)

    async def reconcile(self, key: bytes) -> None:
        volume = self.cached(key)
        if volume is None:
            return
        meta, finalizer = volume["metadata"], FINALIZERS["persistentvolumes"]
        change = wanted_change(volume, finalizer)
        if change is without_finalizer and (volume.get("status") or {}).get("phase") == "Bound":
            return
        if change is not None:
            volumes = self.actor.of("", "v1", "persistentvolumes")
            await self.actor.change(volumes, "", meta["name"], lambda obj: change(obj, finalizer), uid=meta["uid"])


def wanted_change(obj: JsonObject, finalizer: str) -> Callable[[JsonObject, str], bool] | None:
    """The change of an object's protection finalizer: adds it, or removes it if the object is being deleted.

    None if there is nothing to do. The caller must not remove it from an object in use.
    """
    has = finalizer in (obj["metadata"].get("finalizers") or ())
    if is_being_deleted(obj):
        return without_finalizer if has else None
    return None if has else with_finalizer


def claims_of(pod: JsonObject) -> set[str]:
    """The names of the claims that a pod uses, including those of its ephemeral volumes."""
    found = set()
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found.add(volume["persistentVolumeClaim"].get("claimName", ""))
        elif "ephemeral" in volume and not _is_shut_down(pod):
            found.add(f"{pod['metadata']['name']}-{volume.get('name', '')}")
    return found


def _is_shut_down(pod: JsonObject) -> bool:
    return is_being_deleted(pod) and pod["metadata"].get("deletionGracePeriodSeconds") == 0
