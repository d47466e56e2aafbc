"""RuntimeClass: a pod gets the overhead and the scheduling constraints of its class (page "Runtime Class")."""

from __future__ import annotations

from copy import deepcopy

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.record import Admission, Operation
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects
from gateway.validation.field import go_quote

_OVERHEAD_DIFFERS = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_CLASSES = GroupVersionResource("node.k8s.io", "v1", "runtimeclasses")


async def _class_of(pod: JsonObject, admission: Admission, objects: Objects) -> JsonObject | None:
    name = (pod.get("spec") or {}).get("runtimeClassName")
    if name is None:
        return None
    found = await objects.get(_CLASSES, "", name)
    if found is None:
        raise refused(admission, pod, f"pod rejected: RuntimeClass {go_quote(name)} not found")
    return found


async def _admit(admission: Admission, objects: Objects) -> None:
    obj = admission.obj
    assert obj is not None
    runtime = await _class_of(obj, admission, objects)
    if runtime is None:
        return
    spec = obj["spec"]
    overhead = (runtime.get("overhead") or {}).get("podFixed")
    if overhead is not None:
        if spec.get("overhead") and spec["overhead"] != overhead:
            raise refused(admission, obj, _OVERHEAD_DIFFERS)
        spec["overhead"] = dict(overhead)
    _set_scheduling(obj, runtime.get("scheduling") or {}, admission)


def _set_scheduling(pod: JsonObject, scheduling: JsonObject, admission: Admission) -> None:
    spec = pod["spec"]
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        if selector.get(key, value) != value:
            raise refused(
                admission,
                pod,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {selector[key]}",
            )
        selector[key] = value
    if selector:
        spec["nodeSelector"] = selector
    tolerations = list(spec.get("tolerations") or [])
    for toleration in scheduling.get("tolerations") or ():
        if toleration not in tolerations:
            tolerations.append(deepcopy(toleration))
    if tolerations:
        spec["tolerations"] = tolerations


async def _validate(admission: Admission, objects: Objects) -> None:
    obj = admission.obj
    assert obj is not None
    runtime = await _class_of(obj, admission, objects)
    overhead = ((runtime or {}).get("overhead") or {}).get("podFixed")
    given = obj["spec"].get("overhead")
    if overhead is not None:
        if (given or {}) != overhead:
            raise refused(admission, obj, _OVERHEAD_DIFFERS)
    elif given is not None:
        reason = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise refused(admission, obj, reason)


PLUGIN = Plugin(
    "RuntimeClass", on("/pods", operations=(Operation.CREATE,)), looking_up(admit=_admit, validate=_validate)
)
