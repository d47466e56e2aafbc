"""Priority: a pod gets the priority of its class, or of the default one (page "Pod Priority and Preemption")."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.record import Admission, Operation
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects

_WRITES = (Operation.CREATE, Operation.UPDATE)
_KEPT = ("priority", "preemptionPolicy")
_CLASSES = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")


async def _admit(admission: Admission, objects: Objects) -> None:
    obj, old = admission.obj, admission.old
    if obj is None or admission.resource.resource != "pods":
        return
    spec = obj.setdefault("spec", {})
    if old is not None:
        before = old.get("spec") or {}
        for key in _KEPT:
            if key in before:
                spec.setdefault(key, before[key])
        return
    name, value, policy = await _established(obj, spec.get("priorityClassName") or "", admission, objects)
    if name:
        spec["priorityClassName"] = name
    given = spec.get("priority")
    if given is not None and given != value:
        raise refused(
            admission,
            obj,
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {value} from the given PriorityClass name",
        )
    spec["priority"] = value
    wanted = spec.get("preemptionPolicy")
    if wanted is not None and wanted != policy:
        raise refused(
            admission,
            obj,
            f"the string value of PreemptionPolicy ({wanted}) must not be provided in pod spec; priority admission "
            f"controller computed {policy} from the given PriorityClass name",
        )
    spec["preemptionPolicy"] = policy


async def _established(pod: JsonObject, name: str, admission: Admission, objects: Objects) -> tuple[str, int, str]:
    """The class, value and preemption policy that hold for a pod."""
    if name:
        found = await objects.get(_CLASSES, "", name)
        if found is None:
            raise refused(admission, pod, f"no PriorityClass with name {name} was found")
    else:
        found = await _default_class(objects)
        if found is None:
            return "", 0, "PreemptLowerPriority"
    policy = found.get("preemptionPolicy") or "PreemptLowerPriority"
    return found["metadata"]["name"], found.get("value", 0), policy


async def _default_class(objects: Objects) -> JsonObject | None:
    classes = [each for each in objects.stored(_CLASSES) if each.get("globalDefault")]
    return min(classes, key=lambda each: int(each.get("value", 0)), default=None)


async def _validate(admission: Admission, objects: Objects) -> None:
    obj, old = admission.obj, admission.old
    if obj is None or admission.resource.resource != "priorityclasses" or not obj.get("globalDefault"):
        return
    default = await _default_class(objects)
    if default is None:
        return
    name = default["metadata"]["name"]
    if old is None or name != obj["metadata"]["name"]:
        raise refused(admission, obj, f"PriorityClass {name} is already marked as default. Only one default can exist")


PLUGIN = Plugin(
    "Priority",
    on("/pods", "scheduling.k8s.io/priorityclasses", operations=_WRITES),
    looking_up(admit=_admit, validate=_validate),
)
