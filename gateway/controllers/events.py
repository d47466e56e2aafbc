"""Events that controllers write about objects (API reference, "Event")."""

from __future__ import annotations

import time

from gateway.controllers.actor import Actor
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import now_text


async def warn_of(actor: Actor, about: JsonObject, reason: str, message: str, component: str) -> None:
    """Writes a Warning about an object, beside it or, when it is in no namespace, in `default`. Raises StatusError.

    `about` is an ObjectReference.
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
