"""Events that controllers write about objects (API reference, "Event")."""

from __future__ import annotations

import time

from gateway.controllers.actor import Actor
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import now_text


async def warn_of(actor: Actor, about: JsonObject, reason: str, message: str, component: str) -> None:
    """Creates an Event of the type Warning in the object's namespace, or in `default` if it is cluster-scoped.

    `about` is an ObjectReference. Raises StatusError.
    """
    now = now_text()
    event: JsonObject = {
        "metadata": {"name": f"{about['name']}.{time.time_ns():x}"},
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "type": "Warning",
        "source": {"component": component},
        "reportingComponent": component,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    await actor.create(actor.of("", "v1", "events"), about.get("namespace") or "default", event)
