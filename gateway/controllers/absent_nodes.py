"""Removes pods that are being deleted and whose node does not exist: no kubelet will ever finish their deletion."""

from __future__ import annotations

from gateway.controllers.keyed import Keyed, is_being_deleted
from gateway.writing.options import DeleteOptions
from storage.entry import Entry


class AbsentNodes(Keyed):
    """The controller. Its queue has keys of pods."""

    queue_name = "orphaned_pods_nodes"
    resources = ("pods", "minions")

    def seen(self, resource: str, entry: Entry) -> None:
        if resource == "pods" and b'"deletionTimestamp":"' in entry.tail:
            self.queue.add(entry.key)

    def gone(self, resource: str, entry: Entry) -> None:
        if resource == "minions":
            for pod in self.entries("pods"):
                self.seen("pods", pod)

    async def reconcile(self, key: bytes) -> None:
        pod = self.cached(key)
        if pod is None or not is_being_deleted(pod):
            return
        node = (pod.get("spec") or {}).get("nodeName", "")
        if not pod["metadata"].get("deletionGracePeriodSeconds"):
            return  # it only waits for its finalizers
        if not node or await self.live(self.key("minions", "", node)) is None:
            await self.delete(self.actor.of("", "v1", "pods"), pod, DeleteOptions(grace_period=0))
