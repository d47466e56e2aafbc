"""LimitRanger: containers get defaults, and nothing is outside the namespace's limits (page "Limit Ranges")."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up
from gateway.admission.limits.limit_range import set_defaults, violations_of_claim, violations_of_pod
from gateway.admission.record import Admission, Operation
from gateway.admission.refusal import joined, refused
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects
from gateway.kinds.resource import Resource

_LIMIT_RANGES = GroupVersionResource("", "v1", "limitranges")


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


async def _limit_ranges(admission: Admission, objects: Objects) -> list[JsonObject]:
    if admission.old is not None and admission.old["metadata"].get("deletionTimestamp"):
        return []
    return objects.stored(_LIMIT_RANGES, admission.namespace)


async def _admit(admission: Admission, objects: Objects) -> None:
    if admission.resource.resource != "pods":
        return
    for limit_range in await _limit_ranges(admission, objects):
        assert admission.obj is not None
        set_defaults(limit_range, admission.obj)


async def _validate(admission: Admission, objects: Objects) -> None:
    obj = admission.obj
    assert obj is not None
    found = violations_of_pod if admission.resource.resource == "pods" else violations_of_claim
    for limit_range in await _limit_ranges(admission, objects):
        problems = list(found(limit_range, obj.get("spec") or {}))
        if problems:
            raise refused(admission, obj, joined(problems))


PLUGIN = Plugin("LimitRanger", _handles, looking_up(admit=_admit, validate=_validate))
