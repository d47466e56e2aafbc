"""RuntimeClass: a pod gets the overhead and the scheduling constraints of its RuntimeClass (page "Runtime Class")."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.record import Admission, Found
from gateway.admission.refusal import refused
from gateway.admission.tolerations import merged
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects
from gateway.validation.field import go_quote

_OVERHEAD_DIFFERS = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_CLASSES = GroupVersionResource("node.k8s.io", "v1", "runtimeclasses")


async def _class(name: str, pod: JsonObject, admission: Admission, objects: Objects) -> JsonObject:
    found = await objects.get(_CLASSES, "", name)
    if found is None:
        raise refused(admission, pod, f"pod rejected: RuntimeClass {go_quote(name)} not found")
    return found


def _admit(admission: Admission, objects: Objects) -> Found:
    obj = admission.obj
    assert obj is not None
    name = (obj.get("spec") or {}).get("runtimeClassName")
    return None if name is None else _apply(name, obj, admission, objects)


async def _apply(name: str, obj: JsonObject, admission: Admission, objects: Objects) -> Admission:
    """Gives a pod the overhead and scheduling constraints of its RuntimeClass."""
    runtime, spec = await _class(name, obj, admission, objects), obj["spec"]
    overhead, members = (runtime.get("overhead") or {}).get("podFixed"), dict[str, Any]()
    if overhead is not None:
        if spec.get("overhead") and spec["overhead"] != overhead:
            raise refused(admission, obj, _OVERHEAD_DIFFERS)
        members["overhead"] = dict(overhead)
    if (scheduling := runtime.get("scheduling")) is not None:
        members |= _scheduling(obj, scheduling, admission)
    return admission.with_spec(**members)


def _scheduling(pod: JsonObject, scheduling: JsonObject, admission: Admission) -> JsonObject:
    """The members of the pod's spec that its class changes."""
    spec, members = pod["spec"], dict[str, Any]()
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
        members["nodeSelector"] = selector
    if tolerations := merged(spec.get("tolerations") or (), scheduling.get("tolerations") or ()):
        members["tolerations"] = tolerations
    return members


def _validate(admission: Admission, objects: Objects) -> Awaitable[None] | None:
    obj = admission.obj
    assert obj is not None
    spec = obj["spec"]
    if spec.get("runtimeClassName") is not None:
        return _compare(spec["runtimeClassName"], obj, admission, objects)
    if spec.get("overhead") is not None:
        _check(obj, None, admission)
    return None


async def _compare(name: str, obj: JsonObject, admission: Admission, objects: Objects) -> None:
    runtime = await _class(name, obj, admission, objects)
    _check(obj, (runtime.get("overhead") or {}).get("podFixed"), admission)


def _check(obj: JsonObject, overhead: JsonObject | None, admission: Admission) -> None:
    """Raises StatusError for a pod with another overhead than that of its class."""
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
