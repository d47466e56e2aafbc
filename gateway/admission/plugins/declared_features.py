"""NodeDeclaredFeatureValidator: refuses changes of a pod that need a feature its node does not declare."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.plugins.placed_pods import node_of_change, required_node
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects
from gateway.validation.field import go_quote


def _needed(spec: JsonObject, before: JsonObject) -> Iterator[str]:
    """The features that a node has to declare for the change, by name."""
    if spec.get("resources") != before.get("resources"):
        yield "InPlacePodLevelResourcesVerticalScaling"
    for old, new in zip(before.get("initContainers") or (), spec.get("initContainers") or (), strict=False):
        if old.get("restartPolicy") != "Always" and old.get("resources") != new.get("resources"):
            yield "InPlacePodVerticalScalingInitContainers"
            return


async def _validate(admission: Admission, objects: Objects) -> None:
    obj, old, name = admission.obj, admission.old, node_of_change(admission)
    assert obj is not None
    assert old is not None
    needed = list(_needed(obj.get("spec") or {}, old.get("spec") or {})) if name else []
    if not needed:
        return
    node = await required_node(admission, objects, name)
    declared = (node.get("status") or {}).get("declaredFeatures") or ()
    lacking = ", ".join(each for each in needed if each not in declared)
    if lacking:
        reason = f"pod update requires features {lacking} which are not available on node {go_quote(name)}"
        raise refused(admission, obj, reason)


PLUGIN = Plugin(
    "NodeDeclaredFeatureValidator",
    on("/pods", "/pods/resize", operations=(Operation.UPDATE,)),
    looking_up(validate=_validate),
)
