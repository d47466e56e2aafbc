"""LimitRanger: containers get defaults, and nothing is outside the namespace's limits (page "Limit Ranges")."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

from gateway.admission.chain import Plugin, PluginParts, PluginReviews
from gateway.admission.record import Admission, Found
from gateway.admission.refusal import joined, refused
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects
from gateway.kinds.resource import Resource
from gateway.memo import each_time
from storage.time_slice import TimeSlice

_LIMIT_RANGES = GroupVersionResource("", "v1", "limitranges")
_COMPLETED = "completed by limit ranges"
_MOST_COMPARISONS = 20_000  # about 50 ms
_MOST_AT_ONCE = 20  # LimitRanges whose result for a spec is kept


def _handles(resource: Resource, operation: Operation) -> bool:
    """Whether the plug-in handles it: create and resize of pods, create and update of PersistentVolumeClaims."""
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


def _admit(admission: Admission, objects: Objects, completes: bool) -> Found:
    """Gives a pod defaults. `completes`: the feature gate PodLevelResourcesFixDefaulting is off."""
    if admission.resource.resource != "pods":
        return None
    limit_ranges = _limit_ranges(admission, objects)
    return _complete(admission, limit_ranges, completes) if limit_ranges else None


async def _complete(admission: Admission, limit_ranges: list[JsonObject], completes: bool) -> Admission:
    """The record of a pod with the requests and limits that it left out."""
    pod = admission.obj
    assert pod is not None
    changed = admission.reinvoked  # webhooks may have changed the spec since it was sent
    of_spec = each_time if changed or len(limit_ranges) > _MOST_AT_ONCE else admission.of_spec
    rules = (_COMPLETED, *map(_rule, limit_ranges))
    if (known := of_spec(rules, _unknown)) is None:
        spec, notes = await _completed(admission, limit_ranges, pod, completes)
        of_spec(rules, lambda: (dumps(spec), notes))
    else:
        spec, notes = loads(known[0]), known[1]
    meta = pod["metadata"]
    if notes:
        meta = {**meta, "annotations": {**(meta.get("annotations") or {}), **notes}}
    return admission.changed({**pod, "metadata": meta, "spec": spec})


def _unknown() -> tuple[bytes, JsonObject] | None:
    return None


async def _completed(
    admission: Admission, limit_ranges: list[JsonObject], pod: JsonObject, completes: bool
) -> tuple[JsonObject, JsonObject]:
    """A pod's specification with defaults, and the annotations that list them."""
    from gateway.admission.limits.limit_range import with_defaults  # imported late, to keep the start fast

    pod, piece = {**pod, "metadata": {**pod["metadata"], "annotations": {}}}, TimeSlice()
    for limit_range in limit_ranges:
        if piece.over():
            await piece.next()
        _refuse_too_much(admission, limit_range, pod)
        pod = with_defaults(limit_range, pod, completes=completes)
    return pod["spec"], pod["metadata"]["annotations"]


def _rule(limit_range: JsonObject) -> tuple[str | None, str | None]:
    """The uid and resourceVersion of a LimitRange, which identify one version of it."""
    meta = limit_range["metadata"]
    return meta.get("uid"), meta.get("resourceVersion")


def _validate(admission: Admission, objects: Objects) -> Awaitable[None] | None:
    limit_ranges = _limit_ranges(admission, objects)
    return _hold(admission, limit_ranges) if limit_ranges else None


async def _hold(admission: Admission, limit_ranges: list[JsonObject]) -> None:
    """Raises StatusError 403 for a pod or claim outside the limits."""
    obj = admission.obj
    assert obj is not None
    piece = TimeSlice()
    for limit_range in limit_ranges:
        if piece.over():
            await piece.next()
        admission.of_spec(_rule(limit_range), partial(_hold_by_one, admission, limit_range, obj))


def _hold_by_one(admission: Admission, limit_range: JsonObject, obj: JsonObject) -> bool:
    """True. Raises StatusError 403 for a pod or claim outside the limits."""
    from gateway.admission.limits.limit_range import violations_of_claim, violations_of_pod

    spec, old = obj.get("spec") or {}, admission.old
    _refuse_too_much(admission, limit_range, obj)
    if admission.resource.resource == "pods":
        problems = list(violations_of_pod(limit_range, spec))
    else:
        problems = list(violations_of_claim(limit_range, spec, None if old is None else old.get("spec")))
    if problems:
        raise refused(admission, obj, joined(problems))
    return True


def _refuse_too_much(admission: Admission, limit_range: JsonObject, obj: JsonObject) -> None:
    """Raises StatusError 403 if enforcing the LimitRange would block the event loop for too long."""
    from gateway.admission.limits.limit_range import comparisons

    if comparisons(limit_range, obj.get("spec") or {}) > _MOST_COMPARISONS:
        name = limit_range["metadata"]["name"]
        raise refused(admission, obj, f"limit range {name} has too many limits for the number of containers")


def _make(parts: PluginParts) -> PluginReviews:
    completes = not parts.release.gates.enabled("PodLevelResourcesFixDefaulting")
    admit = partial(_admit, objects=parts.objects, completes=completes)
    return PluginReviews(admit, partial(_validate, objects=parts.objects))


PLUGIN = Plugin("LimitRanger", _handles, _make)
