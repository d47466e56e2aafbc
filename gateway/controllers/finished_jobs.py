"""Deletes finished Jobs after their ttlSecondsAfterFinished (page "Automatic Cleanup for Finished Jobs")."""

from __future__ import annotations

from gateway import clock
from gateway.controllers.keyed_controller import KeyedController, is_being_deleted
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import seconds_of
from gateway.writing.options import DeleteOptions
from storage.entry import Entry


class FinishedJobs(KeyedController):
    """The controller. Its queue has keys of Jobs."""

    queue_name = "ttl_jobs_to_delete"
    resources = ("jobs",)

    def on_update(self, resource: str, entry: Entry) -> None:
        if b'"ttlSecondsAfterFinished"' in entry.tail:
            self.queue.add(entry.key)

    async def reconcile(self, key: bytes) -> None:
        job = self.cached(key)
        left = None if job is None else seconds_left(job, clock.now())
        if job is None or left is None:
            return
        if left > 0:
            self.queue.add_after(key, left)
            return
        await self.delete(self.actor.of("batch", "v1", "jobs"), job, DeleteOptions(propagation="Foreground"))


def seconds_left(job: JsonObject, now: float) -> float | None:
    """Seconds until a Job must be deleted. None if it is not finished, has no ttlSecondsAfterFinished, or is being
    deleted. `now` is in seconds since 1970.
    """
    ttl = (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    if ttl is None or is_being_deleted(job):
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            at = condition.get("lastTransitionTime")
            return None if not at else seconds_of(at) + float(ttl) - now
    return None
