"""The status of a Job as its controller reports it (KEP-4368): what must hold, and what may change."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.jsontypes import JsonObject
from gateway.schema.times import instant
from gateway.validation.field import FieldError, duplicate, invalid, required, valueless
from gateway.validation.internal_form import internal_json
from gateway.validation.job_indexes import IndexFormatError, first_overlap, parse_indexes
from gateway.validation.workload import validate_counts

_CONDITIONS = "status.conditions"
_UNCOUNTED = "status.uncountedTerminatedPods"


def _has(status: JsonObject, kind: str, value: str = "True") -> bool:
    return any(c.get("type") == kind and c.get("status") == value for c in status.get("conditions") or ())


def _finished(status: JsonObject) -> bool:
    return _has(status, "Complete") or _has(status, "Failed")


@dataclass(slots=True)
class _Change:
    """The new and the old status, and the spec, which does not change."""

    new: JsonObject
    old: JsonObject
    spec: JsonObject

    def of(self, *keys: str) -> bool:
        """Whether any of the fields changes. The zero time always does: Go compares its location, too."""
        new, old = self.new, self.old
        return any(instant(new, key) != instant(old, key) or (key in new and new[key] is None) for key in keys)

    def condition(self, *kinds: str) -> bool:
        return any(_has(self.new, kind) != _has(self.old, kind) for kind in kinds)

    def finished(self) -> bool:
        return _finished(self.new) != _finished(self.old)


def validate_job_status_update(job: JsonObject, old: JsonObject) -> list[FieldError]:
    """`job` and `old` are Jobs. Most rules apply only if a field that they are about changes."""
    errors: list[FieldError] = []
    change = _Change(job.get("status") or {}, old.get("status") or {}, job.get("spec") or {})
    validate_counts(change.new, ("active", "succeeded", "failed", "ready", "terminating"), "status", errors)
    _uncounted(change.new.get("uncountedTerminatedPods") or {}, errors)
    _terminal_conditions(change, errors)
    _completion_time(change, errors)
    _targets(change, errors)
    _finished_job(change, errors)
    _indexes(change, errors)
    _pods(change, errors)
    _success(change, errors)
    _no_way_back(change, errors)
    return errors


def _uncounted(pods: JsonObject, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    for key in ("succeeded", "failed"):
        for i, uid in enumerate(pods.get(key) or ()):
            at = f"{_UNCOUNTED}.{key}[{i}]"
            if not uid:
                errors.append(invalid(at, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(at, uid))
            seen.add(uid)


def _terminal_conditions(change: _Change, errors: list[FieldError]) -> None:
    complete = _has(change.new, "Complete")
    if change.condition("Complete", "Failed") and complete and _has(change.new, "Failed"):
        errors.append(valueless(_CONDITIONS, "cannot set Complete=True and Failed=true conditions"))
    if change.condition("Complete", "FailureTarget") and complete and _has(change.new, "FailureTarget"):
        errors.append(valueless(_CONDITIONS, "cannot set Complete=True and FailureTarget=true conditions"))


def _completion_time(change: _Change, errors: list[FieldError]) -> None:
    path, complete = "status.completionTime", _has(change.new, "Complete")
    start, end = instant(change.new, "startTime"), instant(change.new, "completionTime")
    if change.condition("Complete") or change.of("completionTime"):
        if end is not None and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid(path, change.new["completionTime"], text))
        if end is None and complete:
            errors.append(required(path, "completionTime is required for Complete jobs"))
    if change.of("startTime", "completionTime") and start is not None and end is not None and end < start:
        errors.append(invalid(path, change.new["completionTime"], "must be equal to or after `startTime`"))


def _targets(change: _Change, errors: list[FieldError]) -> None:
    untargeted = _has(change.new, "Failed") and not _has(change.new, "FailureTarget")
    if untargeted and (change.condition("Failed") or change.of("failedIndexes")):
        text = "cannot set Failed=True condition without the FailureTarget=true condition"
        errors.append(valueless(_CONDITIONS, text))
    unmet = _has(change.new, "Complete") and not _has(change.new, "SuccessCriteriaMet")
    if unmet and change.condition("Complete", "SuccessCriteriaMet"):
        text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        errors.append(valueless(_CONDITIONS, text))


def _finished_job(change: _Change, errors: list[FieldError]) -> None:
    if not _finished(change.new):
        return
    active, uncounted = change.new.get("active", 0), change.new.get("uncountedTerminatedPods")
    turned = change.finished()
    if (turned or change.of("active")) and active > 0:
        errors.append(invalid("status.active", active, "active>0 is invalid for finished job"))
    empty = change.spec.get("suspend") is True and change.spec.get("completions") == 0
    if (turned or change.of("startTime")) and not empty and "startTime" not in change.new:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    some = uncounted and (uncounted.get("failed") or uncounted.get("succeeded"))
    if some and (turned or change.of("uncountedTerminatedPods")):
        shown = internal_json("UncountedTerminatedPods", uncounted)
        errors.append(invalid(_UNCOUNTED, shown, "must be empty for finished job"))


def _indexes(change: _Change, errors: list[FieldError]) -> None:
    completions, per_index = change.spec.get("completions"), "backoffLimitPerIndex" in change.spec
    completed, failed = change.new.get("completedIndexes", ""), change.new.get("failedIndexes")
    changed = {key: change.of(key) for key in ("completedIndexes", "failedIndexes")}
    if completions is not None:
        if changed["completedIndexes"]:
            _index_format("completedIndexes", completed, completions, errors)
        if changed["failedIndexes"] and per_index and failed is not None:
            _index_format("failedIndexes", failed, completions, errors)
    if changed["completedIndexes"] and completed and change.spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid("status.completedIndexes", completed, text))
    if failed is None:
        return
    if changed["failedIndexes"] and not per_index:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid("status.failedIndexes", failed, text))
    if any(changed.values()) and completions is not None:
        overlap = first_overlap(completed, failed, completions)
        if overlap is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {overlap}"
            errors.append(invalid("status.failedIndexes", failed, text))


def _index_format(key: str, value: str, completions: int, errors: list[FieldError]) -> None:
    try:
        parse_indexes(value, completions)
    except IndexFormatError as error:
        errors.append(invalid(f"status.{key}", value, f"error parsing {key}: {error}"))


def _pods(change: _Change, errors: list[FieldError]) -> None:
    terminating, ready = change.new.get("terminating"), change.new.get("ready")
    if (change.finished() or change.of("terminating")) and terminating and terminating > 0 and _finished(change.new):
        errors.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    if change.of("ready", "active") and ready is not None and ready > change.new.get("active", 0):
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))


def _success(change: _Change, errors: list[FieldError]) -> None:
    met = _has(change.new, "SuccessCriteriaMet")
    for kind, shown in (("Failed", "Failed"), ("FailureTarget", "FailureTarget")):
        if met and _has(change.new, kind):
            errors.append(valueless(_CONDITIONS, f"cannot set SuccessCriteriaMet=True and {shown}=true conditions"))
    if "successPolicy" in change.spec and not met and _has(change.new, "Complete"):
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        errors.append(valueless(_CONDITIONS, text))


def _no_way_back(change: _Change, errors: list[FieldError]) -> None:
    new, old, spec = change.new, change.old, change.spec
    for kind in ("Failed", "Complete", "FailureTarget"):
        if _has(old, kind) and not _has(new, kind):
            errors.append(valueless(_CONDITIONS, f"cannot disable the terminal {kind}=True condition"))
    if new.get("failed", 0) < old.get("failed", 0):
        errors.append(invalid("status.failed", new.get("failed", 0), "cannot decrease the failed counter"))
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not elastic and new.get("succeeded", 0) < old.get("succeeded", 0):
        errors.append(invalid("status.succeeded", new.get("succeeded", 0), "cannot decrease the succeeded counter"))
    if "completionTime" in new and "completionTime" in old and change.of("completionTime"):
        errors.append(invalid("status.completionTime", new["completionTime"], "field is immutable"))
    resuming = _has(old, "Suspended") and _has(new, "Suspended", "False")
    if change.of("startTime") and not resuming and "startTime" in old and not spec.get("suspend"):
        text = "field is immutable for unsuspended job once set"
        errors.append(invalid("status.startTime", new.get("startTime"), text))
    if _has(old, "SuccessCriteriaMet") and not _has(new, "SuccessCriteriaMet"):
        errors.append(valueless(_CONDITIONS, "cannot disable the SuccessCriteriaMet=True condition"))
    if _has(old, "Complete") and not _has(old, "SuccessCriteriaMet") and _has(new, "SuccessCriteriaMet"):
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(valueless(_CONDITIONS, text))
