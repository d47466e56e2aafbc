"""Removes pods that are being deleted and whose node does not exist: no kubelet will ever finish their deletion.

A pod without a node is deleted by two writes, as in kube-apiserver: its deletionTimestamp, then its removal. If a
server ends after the first write, the pod stays; so it is removed here, too.
"""

from __future__ import annotations

from gateway import clock
from gateway.controllers.keyed_controller import KeyedController, is_being_deleted
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import seconds_of
from gateway.writing.options import DeleteOptions
from storage.entry import Entry

INTERRUPTED = 10.0  # seconds after which the removal of a pod is no longer under way in another server


class AbsentNodes(KeyedController):
    """The controller. Its queue has keys of pods."""

    queue_name = "orphaned_pods_nodes"
    resources = ("pods", "minions")

    def on_update(self, resource: str, entry: Entry) -> None:
        if resource == "pods" and b'"deletionTimestamp":"' in entry.tail:
            self.queue.add(entry.key)

    def on_delete(self, resource: str, entry: Entry) -> None:
        if resource == "minions":
            for pod in self.entries("pods"):
                self.on_update("pods", pod)

    async def reconcile(self, key: bytes) -> None:
        pod = self.cached(key)
        if pod is None or not is_being_deleted(pod):
            return
        if not pod["metadata"].get("deletionGracePeriodSeconds"):
            await self._finish(key, pod)
            return
        node = (pod.get("spec") or {}).get("nodeName", "")
        if not node or await self.live(self.key("minions", "", node)) is None:
            await self.delete(self.actor.of("", "v1", "pods"), pod, DeleteOptions(grace_period=0))

    async def _finish(self, key: bytes, pod: JsonObject) -> None:
        """Removes a pod that has no grace period left and waits for no finalizer: its removal was interrupted."""
        if pod["metadata"].get("finalizers"):
            return
        left = seconds_of(pod["metadata"]["deletionTimestamp"]) + INTERRUPTED - clock.now()
        if left > 0:
            self.queue.add_after(key, left)
        else:
            await self.delete(self.actor.of("", "v1", "pods"), pod, DeleteOptions(grace_period=0))
