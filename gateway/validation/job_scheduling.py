"""How the pods of a Job are scheduled together, in a Job and in the template of a CronJob (KEP-5547).

The gate of the field is off: only an object that a server with the gate has stored has it. The rules of its parts are
declarative and are not checked, because a change of the field is refused.
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, invalid

_NOT_BASIC = "the disruptionMode `all` is not supported with the Basic scheduling policy"
_VARIANT = (
    "the basic/gang policy variant is immutable after creation; only schedulingPolicy.gang.minCount may be updated"
)


def validate_job_scheduling(spec: JsonObject, path: str) -> list[FieldError]:
    """The errors of `scheduling` in the spec of a Job at `path`."""
    scheduling = spec.get("scheduling")
    if scheduling is None:
        return []
    found, policy = list[FieldError](), scheduling.get("schedulingPolicy", {"basic": {}})
    least, most = (policy.get("gang") or {}).get("minCount"), spec.get("parallelism", 1)
    if least is not None and least > most:
        at = f"{path}.scheduling.schedulingPolicy.gang.minCount"
        found.append(invalid(at, least, f"must not be greater than parallelism ({most})"))
    if "basic" in policy and "all" in (scheduling.get("disruptionMode") or {}):
        found.append(invalid(f"{path}.scheduling.disruptionMode", "", _NOT_BASIC))
    return found


def validate_job_scheduling_update(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """The error of another policy in the spec of a Job."""
    new, old = ((each.get("scheduling") or {}).get("schedulingPolicy") for each in (spec, before))
    if new is None or old is None or ("basic" in new) == ("basic" in old):
        return []
    return [invalid("spec.scheduling.schedulingPolicy", None, _VARIANT)]
