"""Looks up the node of a pod, for plug-ins that check changes of pods that are on a node."""

from __future__ import annotations

from gateway.admission.kinds import NODES
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.objects import Objects
from gateway.validation.field import go_quote


def node_of_change(admission: Admission) -> str:
    """The pod's nodeName if the update changes the pod's specification; "" for other updates, and for pods without a
    node.
    """
    obj, old = admission.obj, admission.old
    assert obj is not None
    assert old is not None
    if old["metadata"].get("generation") == obj["metadata"].get("generation"):
        return ""
    name: str = (obj.get("spec") or {}).get("nodeName", "")
    return name


async def required_node(admission: Admission, objects: Objects, name: str) -> JsonObject:
    """The node of a name. Raises StatusError 403 for one that is missing."""
    node = await objects.get(NODES, "", name)
    if node is None:
        raise refused(admission, admission.obj, f"node {go_quote(name)} not found")
    return node
