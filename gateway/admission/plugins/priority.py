"""Priority: a pod gets the priority of its class, or of the default one (page "Pod Priority and Preemption")."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.record import Admission, Found
from gateway.admission.refusal import refused
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects
from storage.entry import Entry

_FLAG = b'"globalDefault":true'
_WRITES = (Operation.CREATE, Operation.UPDATE)
_KEPT = ("priority", "preemptionPolicy")
_CLASSES = GroupVersionResource("scheduling.k8s.io", "v1", "priorityclasses")


def _admit(admission: Admission, objects: Objects) -> Found:
    obj, old = admission.obj, admission.old
    if obj is None or admission.resource.resource != "pods":
        return None
    spec = obj.get("spec") or {}
    if old is not None:
        before = old.get("spec") or {}
        missing = {key: before[key] for key in _KEPT if key in before and key not in spec}
        return admission.with_spec(**missing) if missing else None
    if name := spec.get("priorityClassName"):
        return _of_class(name, admission, obj, objects)
    return _with_class(admission, obj, _default_class(objects))


async def _of_class(name: str, admission: Admission, obj: JsonObject, objects: Objects) -> Admission:
    found = await objects.get(_CLASSES, "", name)
    if found is None:
        raise refused(admission, obj, f"no PriorityClass with name {name} was found")
    return _with_class(admission, obj, found)


def _with_class(admission: Admission, obj: JsonObject, class_: JsonObject | None) -> Admission:
    """Gives a pod priorityClassName, priority and preemptionPolicy. Raises StatusError 403 if it has other values."""
    spec, (name, value, policy) = obj.get("spec") or {}, _established(class_)
    if (given := spec.get("priority")) is not None and given != value:
        raise _another(admission, obj, "integer value of priority", given, value)
    if (given := spec.get("preemptionPolicy")) is not None and given != policy:
        raise _another(admission, obj, "string value of PreemptionPolicy", given, policy)
    if name:
        return admission.with_spec(priorityClassName=name, priority=value, preemptionPolicy=policy)
    return admission.with_spec(priority=value, preemptionPolicy=policy)


def _another(admission: Admission, obj: JsonObject, shown: str, given: object, computed: object) -> StatusError:
    """The 403 for a pod with another value than that of its class."""
    return refused(
        admission,
        obj,
        f"the {shown} ({given}) must not be provided in pod spec; priority admission controller "
        f"computed {computed} from the given PriorityClass name",
    )


def _established(found: JsonObject | None) -> tuple[str, int, str]:
    if found is None:
        return "", 0, "PreemptLowerPriority"
    policy = found.get("preemptionPolicy") or "PreemptLowerPriority"
    return found["metadata"]["name"], found.get("value", 0), policy


def _default_class(objects: Objects) -> JsonObject | None:
    return objects.found(_CLASSES, _default_among)


def _default_among(entries: Sequence[Entry]) -> JsonObject | None:
    flagged = (each.parsed() for each in entries if _FLAG in each.tail)
    classes = [each for each in flagged if each.get("globalDefault")]
    return min(classes, key=lambda each: int(each.get("value", 0)), default=None)


def _validate(admission: Admission, objects: Objects) -> None:
    obj, old = admission.obj, admission.old
    if obj is None or admission.resource.resource != "priorityclasses" or not obj.get("globalDefault"):
        return
    default = _default_class(objects)
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
