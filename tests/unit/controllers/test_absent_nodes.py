"""Pods whose deletion nobody else finishes."""

from __future__ import annotations

from typing import Any, cast

import pytest

from gateway import clock
from gateway.controllers.absent_nodes import INTERRUPTED, AbsentNodes
from gateway.controllers.actor import Actor
from gateway.endpoints.endpoint import Endpoint
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import time_text
from gateway.work_queue import WorkQueue
from gateway.writing.options import DeleteOptions


class _Actor:
    def of(self, group: str, version: str, resource: str) -> None:
        assert (group, version, resource) == ("", "v1", "pods")


class _Controller(AbsentNodes):
    """Has one pod, and notes its deletion."""

    def __init__(self, metadata: dict[str, Any]) -> None:
        self.queue = WorkQueue("absent")
        self.actor = cast(Actor, _Actor())
        self.pod, self.deleted = {"metadata": metadata, "spec": {}}, 0

    def cached(self, key: bytes) -> JsonObject | None:
        return self.pod

    async def delete(self, endpoint: Endpoint, obj: JsonObject, options: DeleteOptions) -> bool:
        self.deleted += options.grace_period == 0
        return True


def deleted_at(seconds: float, **more: Any) -> dict[str, Any]:
    moment = time_text(int(clock.now() + seconds))
    return {"name": "a", "deletionTimestamp": moment, "deletionGracePeriodSeconds": 0} | more


@pytest.mark.parametrize(
    ("age", "more", "deleted", "waits"),
    [
        (INTERRUPTED + 2, {}, 1, False),
        (0, {}, 0, True),  # another server may be about to remove it
        (INTERRUPTED + 2, {"finalizers": ["a.io/b"]}, 0, False),
        (-30, {"deletionGracePeriodSeconds": 30}, 1, False),
        (0, {"deletionTimestamp": ""}, 0, False),
    ],
)
async def test_a_removal_that_was_interrupted_is_finished(
    age: float, more: dict[str, Any], deleted: int, waits: bool
) -> None:
    """A server that was killed between the two writes of a deletion left the pod for ever."""
    controller = _Controller(deleted_at(-age, **more))
    await controller.reconcile(b"/registry/pods/default/a")
    assert (controller.deleted, not controller.queue.idle) == (deleted, waits)
    controller.queue.close()
