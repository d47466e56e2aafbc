"""LimitRanger: containers get defaults, and nothing is outside the namespace's limits (page "Limit Ranges")."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up
from gateway.admission.record import Admission, Operation
from gateway.admission.refusal import joined, refused
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects
from gateway.kinds.resource import Resource

_LIMIT_RANGES = GroupVersionResource("", "v1", "limitranges")
_MOST_COMPARISONS = 20_000  # about 50 ms


def _handles(resource: Resource, operation: Operation) -> bool:
    """New pods and their resizes; claims, but not their status."""
    if resource.group or operation not in (Operation.CREATE, Operation.UPDATE):
        return False
    match resource.resource, resource.subresource:
        case "pods", "":
            return operation is Operation.CREATE
        case "pods", "resize":
            return operation is Operation.UPDATE
        case "persistentvolumeclaims", "":
            return True
    return False


def _limit_ranges(admission: Admission, objects: Objects) -> list[JsonObject]:
    if admission.old is not None and admission.old["metadata"].get("deletionTimestamp"):
        return []
    return objects.stored(_LIMIT_RANGES, admission.namespace)


async def _admit(admission: Admission, objects: Objects) -> None:
    if admission.resource.resource != "pods":
        return
    limit_ranges, pod = _limit_ranges(admission, objects), admission.obj
    assert pod is not None
    if not limit_ranges:
        return
    from gateway.admission.limits.limit_range import set_defaults  # what a start does not need

    for limit_range in limit_ranges:
        _refuse_too_much(admission, limit_range, pod)
        set_defaults(limit_range, pod)


async def _validate(admission: Admission, objects: Objects) -> None:
    limit_ranges, obj, recurrence = _limit_ranges(admission, objects), admission.obj, admission.recurrence
    assert obj is not None
    if not limit_ranges:
        return
    from gateway.admission.limits.limit_range import violations_of_claim, violations_of_pod

    found = violations_of_pod if admission.resource.resource == "pods" else violations_of_claim
    for limit_range in limit_ranges:
        meta = limit_range["metadata"]
        rule = (meta.get("uid"), meta.get("resourceVersion"))
        if recurrence is not None and recurrence.is_admitted(rule):
            continue
        _refuse_too_much(admission, limit_range, obj)
        problems = list(found(limit_range, obj.get("spec") or {}))
        if problems:
            raise refused(admission, obj, joined(problems))
        if recurrence is not None:
            recurrence.admit(rule)


def _refuse_too_much(admission: Admission, limit_range: JsonObject, obj: JsonObject) -> None:
    """Raises StatusError where so much would be compared that others had to wait for it."""
    from gateway.admission.limits.limit_range import comparisons

    if comparisons(limit_range, obj.get("spec") or {}) > _MOST_COMPARISONS:
        name = limit_range["metadata"]["name"]
        raise refused(admission, obj, f"limit range {name} says too much of too many containers to be enforced")


PLUGIN = Plugin("LimitRanger", _handles, looking_up(admit=_admit, validate=_validate))
