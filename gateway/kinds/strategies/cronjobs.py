"""CronJobs (page "CronJob")."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies import templates
from gateway.kinds.strategies.jobs import job_warnings
from gateway.kinds.strategies.status import with_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.cron import validate_schedule, validate_time_zone
from gateway.validation.field import FieldError, invalid, not_supported, required
from gateway.validation.internal_form import selector_json
from gateway.validation.job_spec import validate_job_spec
from gateway.validation.names import byte_length
from gateway.validation.pod_options import PodOptions
from gateway.validation.pod_template import template_options
from gateway.validation.pod_warnings import name_warning
from gateway.validation.workload import validate_counts

_POLICIES = ("Allow", "Forbid", "Replace")
_MAX_NAME = 52  # the controller adds eleven characters for a Job's name
_ZONE_IN_SCHEDULE = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


def _job(obj: JsonObject) -> JsonObject:
    spec: JsonObject = ((obj.get("spec") or {}).get("jobTemplate") or {}).get("spec") or {}
    return spec


def _template(obj: JsonObject) -> JsonObject:
    template: JsonObject = _job(obj).get("template") or {}
    return template


def _spec(spec: JsonObject, before: JsonObject | None, errors: list[FieldError], options: PodOptions) -> None:
    schedule, zone, policy = spec.get("schedule", ""), spec.get("timeZone"), spec.get("concurrencyPolicy", "")
    if not schedule:
        errors.append(required("spec.schedule"))
    else:
        allow_zone = "TZ" in (before or {}).get("schedule", "")
        errors += validate_schedule(schedule, zone, "spec.schedule", allow_zone)
    validate_counts(spec, ("startingDeadlineSeconds",), "spec", errors)
    if zone is not None and (before is None or before.get("timeZone") != zone):
        errors += validate_time_zone(zone, "spec.timeZone")
    if policy not in _POLICIES:
        at = "spec.concurrencyPolicy"
        errors.append(not_supported(at, policy, _POLICIES) if policy else required(at))
    job, path = (spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec"
    validate_job_spec(job, path, errors, options)
    if "selector" in job:
        errors.append(invalid(f"{path}.selector", selector_json(job["selector"]), "`selector` will be auto-generated"))
    if job.get("manualSelector"):
        errors.append(not_supported(f"{path}.manualSelector", True, ("nil", "false")))
    validate_counts(spec, ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"), "spec", errors)


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    _spec(obj.get("spec") or {}, None, errors, template_options(None, context.enabled))
    name = obj["metadata"].get("name", "")
    if byte_length(name) > _MAX_NAME:
        errors.append(invalid("metadata.name", name, f"must be no more than {_MAX_NAME} characters"))
    return errors


@templates.unless_same_spec
def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    options = template_options(_template(old), context.enabled)
    _spec(obj.get("spec") or {}, old.get("spec") or {}, errors, options)
    return errors


def _warnings_on_create(obj: JsonObject, context: WriteContext) -> Iterator[str]:
    yield from name_warning(obj["metadata"].get("name", ""), templates.POD_NAMES)
    yield from job_warnings(_job(obj), "spec.jobTemplate.spec")


def _warnings_on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> Iterator[str]:
    if obj["metadata"].get("generation") != old["metadata"].get("generation"):
        yield from job_warnings(_job(obj), "spec.jobTemplate.spec")
    if "TZ" in (obj.get("spec") or {}).get("schedule", ""):
        yield _ZONE_IN_SCHEDULE


STRATEGIES = with_status(
    Strategy(
        prepare_for_create=templates.creating(template=_template),
        prepare_for_update=templates.updating(_template),
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings_on_create,
        warnings_on_update=_warnings_on_update,
    ),
    rechecks_metadata=False,
)
