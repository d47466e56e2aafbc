"""Keeps VolumeAttributesClasses that volumes or claims use ("Volume Attributes Classes"; KEP-3751)."""

from __future__ import annotations

from gateway.admission.plugins.storage_protection import FINALIZERS
from gateway.controllers.actor import Actor
from gateway.controllers.cache_sync import all_seen
from gateway.controllers.keyed_controller import KeyedController
from gateway.controllers.marks import without_finalizer
from gateway.controllers.volume_protection import wanted_change
from gateway.jsontypes import loads
from gateway.quotas.evaluators.volume_claims import attribute_classes
from storage.entry import Entry

CLASSES = "volumeattributesclasses"
SETTLE = 0.2  # seconds in which changes are gathered before the classes are checked
_USERS = ("persistentvolumes", "persistentvolumeclaims")


class ClassProtection(KeyedController):
    """Adds the finalizer to classes, and removes it from deleted classes that nothing uses.

    Its queue has keys of classes.
    """

    queue_name = "vacprotection"
    resources = (CLASSES, *_USERS)

    def __init__(self, actor: Actor) -> None:
        super().__init__(actor)
        self._ending: set[bytes] = set()  # classes that are being deleted

    def on_update(self, resource: str, entry: Entry) -> None:
        if resource != CLASSES:
            self._look_again()
            return
        if b'"deletionTimestamp":"' in entry.tail:
            self._ending.add(entry.key)
        self.queue.add(entry.key)

    def on_delete(self, resource: str, entry: Entry) -> None:
        if resource == CLASSES:
            self._ending.discard(entry.key)
        else:
            self._look_again()

    def _look_again(self) -> None:
        for key in self._ending:
            self.queue.add_after(key, SETTLE)

    async def reconcile(self, key: bytes) -> None:
        found = self.cached(key)
        if found is None:
            return
        name, finalizer = found["metadata"]["name"], FINALIZERS[CLASSES]
        change = wanted_change(found, finalizer)
        if change is without_finalizer and await self._is_used(name):
            return
        if change is not None:
            classes = self.actor.of("storage.k8s.io", "v1", CLASSES)
            await self.actor.change(classes, "", name, lambda obj: change(obj, finalizer), uid=found["metadata"]["uid"])

    async def _is_used(self, name: str) -> bool:
        stores = self.actor.endpoints.services.stores
        for store in dict.fromkeys(stores.of_collection(self.key(resource, "")) for resource in _USERS):
            await all_seen(store.reads)
        named = name.encode()
        return any(
            name in attribute_classes(loads(b"{" + entry.tail))
            for resource in _USERS
            for entry in self.entries(resource)
            if named in entry.tail
        )
