"""Columns of jobs and cron jobs."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.durations import epoch, human_duration, seconds_between
from gateway.kinds.columns.model import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Columns,
    age,
    boolean,
    column,
    containers,
    integer,
    name_of,
    part,
    since,
    wide,
)
from gateway.kinds.columns.selectors import selector_cell
from gateway.kinds.columns.workloads import CONTAINERS

_STATES = (  # condition and state, the first that is true; "" stands for a deletionTimestamp
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def _job(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        _state(obj),
        _completions(spec, part(obj, "status")),
        _duration(part(obj, "status")),
        age(obj),
        *containers(part(spec, "template")),
        selector_cell(spec.get("selector")),
    ]


def _state(obj: JsonObject) -> str:
    states = dict[str, str]()
    for condition in part(obj, "status").get("conditions") or ():
        states.setdefault(condition.get("type", ""), condition.get("status", ""))
    for condition, state in _STATES:
        if states.get(condition) == "True" if condition else obj["metadata"].get("deletionTimestamp"):
            return state
    return "Running"


def _completions(spec: JsonObject, status: JsonObject) -> str:
    succeeded, wanted = status.get("succeeded", 0), spec.get("completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(status: JsonObject) -> Cell:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return human_duration(seconds_between(epoch(start), epoch(end))) if end else since(start)


def _cron_job(obj: JsonObject) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    last = status.get("lastScheduleTime")
    suspend = spec.get("suspend")
    job = part(spec, "jobTemplate", "spec")
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone", NONE),
        UNSET if suspend is None else str(suspend),
        len(status.get("active") or ()),
        since(last) if last else NONE,
        age(obj),
        *containers(part(job, "template")),
        selector_cell(job.get("selector")),
    ]


COLUMNS = {
    ("batch", "Job"): Columns(
        (
            NAME,
            column("Status"),
            column("Completions", "batch.v1.JobStatus.succeeded"),
            column("Duration"),
            AGE,
            *CONTAINERS,
            wide("Selector", "batch.v1.JobSpec.selector"),
        ),
        _job,
    ),
    ("batch", "CronJob"): Columns(
        (
            NAME,
            column("Schedule", "batch.v1.CronJobSpec.schedule"),
            column("Timezone", "batch.v1.CronJobSpec.timeZone"),
            boolean("Suspend", "batch.v1.CronJobSpec.suspend"),
            integer("Active", "batch.v1.CronJobStatus.active"),
            column("Last Schedule", "batch.v1.CronJobStatus.lastScheduleTime"),
            AGE,
            *CONTAINERS,
            wide("Selector", "batch.v1.JobSpec.selector"),
        ),
        _cron_job,
    ),
}
