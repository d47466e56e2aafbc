"""Events that controllers write about objects (API reference, "Event")."""

from __future__ import annotations

import time

from gateway.controllers.actor import Actor
from gateway.jsontypes import JsonObject
from gateway.kinds.metadata import now_text
from gateway.kinds.resource import Resource


async def warn_of(
    actor: Actor, resource: Resource, metadata: JsonObject, reason: str, message: str, component: str
) -> None:
    """Writes a Warning about an object, beside it or, when it is in no namespace, in `default`. Raises StatusError."""
    namespace, name = metadata.get("namespace", ""), metadata["name"]
    about = {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "namespace": namespace,
        "name": name,
        "uid": metadata["uid"],
    }
    now = now_text()
    event: JsonObject = {
        "metadata": {"name": f"{name}.{time.time_ns():x}"},
        "involvedObject": {key: value for key, value in about.items() if value},
        "reason": reason,
        "message": message,
        "type": "Warning",
        "source": {"component": component},
        "reportingComponent": component,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
    await actor.create(actor.of("", "v1", "events"), namespace or "default", event)
