"""Answers that several subresources share."""

from __future__ import annotations

from gateway.http.exchange import Response
from gateway.jsontypes import JsonObject, dump_line
from gateway.kinds.resource import Resource
from gateway.schema.encode import encode_answer


def created_status() -> Response:
    """The answer 201 with a Status, for a create that leaves no object."""
    body: JsonObject = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return Response(201, dump_line(body))


def set_condition(status: JsonObject, condition: JsonObject, now: str) -> None:
    """Adds or replaces the condition of a type; its lastTransitionTime moves only when its status changes."""
    conditions = status.setdefault("conditions", [])
    for index, present in enumerate(conditions):
        if present.get("type") == condition["type"]:
            moved = present.get("status") != condition["status"]
            since = now if moved else present.get("lastTransitionTime")
            conditions[index] = {**condition, "lastProbeTime": None, "lastTransitionTime": since}
            return
    conditions.append({**condition, "lastProbeTime": None, "lastTransitionTime": now})


def created_object(obj: JsonObject, resource: Resource) -> Response:
    """The answer 201 with an object that is not stored; adds kind and apiVersion, and sorts members in Go's order."""
    named = {"kind": resource.kind, "apiVersion": resource.api_version} | obj
    return Response(201, encode_answer(named, resource.kind, resource.api_version))
