"""Jobs (page "Jobs")."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

from gateway.jsontypes import JsonObject, by_name
from gateway.kinds.strategies import templates
from gateway.kinds.strategies.status import with_status
from gateway.kinds.strategy import Dependents, Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.internal_form import go_json, internal_json, selector_json, template_json
from gateway.validation.job_scheduling import validate_job_scheduling_update
from gateway.validation.job_spec import validate_job_spec
from gateway.validation.job_status import validate_job_status_update
from gateway.validation.labels import has_invalid_value, selector_matches, validate_label_selector
from gateway.validation.names import is_dns1123_label, name_is_dns_subdomain
from gateway.validation.objectmeta import IMMUTABLE, recheck_object_meta_update, validate_object_meta
from gateway.validation.pod_options import PodOptions
from gateway.validation.pod_template import template_options
from gateway.validation.pod_warnings import name_warning
from gateway.validation.workload import selector_is_usable, template_labels, validate_match

CONTROLLER_UID, JOB_NAME = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
LEGACY_CONTROLLER_UID, LEGACY_JOB_NAME = "controller-uid", "job-name"
_MANY_COMPLETIONS, _MANY_PODS = 100_000, 10_000
_MANY = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes "
    "might not be able to track completedIndexes when a big number of indexes fail"
)
# fields of the pod template that may change while the Job is suspended
_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")

_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)

_create = templates.creating()


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    if not (obj.get("spec") or {}).get("manualSelector"):
        _generate_selector(obj)
    _create(obj, context)


def _generate_selector(obj: JsonObject) -> None:
    """Sets labels on the pod template that are unique to this Job, and a selector for them."""
    meta, spec = obj["metadata"], obj.setdefault("spec", {})
    labels = spec.setdefault("template", {}).setdefault("metadata", {}).setdefault("labels", {})
    taken = meta.get("labels") is labels  # by default: Go has one map then, and copies it to generate a name
    if taken and meta.get("generateName"):
        meta["labels"] = dict(labels)
    for key in (LEGACY_JOB_NAME, JOB_NAME):
        labels.setdefault(key, meta.get("name", ""))
    for key in (LEGACY_CONTROLLER_UID, CONTROLLER_UID):
        labels.setdefault(key, meta.get("uid", ""))
    if taken and not meta.get("generateName"):
        meta["labels"] = dict(labels)
    matches = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    matches.setdefault(CONTROLLER_UID, meta.get("uid", ""))


def _take_labels(obj: JsonObject) -> None:
    """A Job without labels gets those of its template."""
    labels = template_labels(templates.template_of(obj))
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _has_label(template: JsonObject, key: str, value: str, errors: list[FieldError]) -> None:
    labels, at = template_labels(template), f"spec.template.metadata.labels[{key}]"
    if key not in labels:
        errors.append(required(at, f"must be '{value}'"))
    elif labels[key] != value:
        errors.append(invalid(at, go_json(by_name(labels)), f"must be '{value}'"))


def _generated_selector(obj: JsonObject, errors: list[FieldError], prefixed: bool) -> None:
    spec, meta = obj.get("spec") or {}, obj["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    uid, name = meta.get("uid", ""), meta.get("name", "")
    if not uid:
        errors.append(required("metadata.uid"))
    expected = {LEGACY_CONTROLLER_UID: uid, LEGACY_JOB_NAME: name}
    if prefixed:
        expected |= {CONTROLLER_UID: uid, JOB_NAME: name}
    for key, value in expected.items():
        _has_label(spec.get("template") or {}, key, value, errors)
    if selector_is_usable(selector) and not selector_matches(selector, expected):
        errors.append(invalid("spec.selector", selector_json(selector), "`selector` not auto-generated"))


def _spec(spec: JsonObject, errors: list[FieldError], options: PodOptions, any_values: bool) -> None:
    validate_job_spec(spec, "spec", errors, options)
    selector = spec.get("selector")
    if selector is None:
        errors.append(required("spec.selector"))
    else:
        errors += validate_label_selector(selector, "spec.selector", allow_invalid_values=any_values)
    if selector_is_usable(selector):
        validate_match(selector, spec.get("template") or {}, "spec.template", errors)


def _job(obj: JsonObject, errors: list[FieldError], options: PodOptions, prefixed: bool, any_values: bool) -> None:
    _generated_selector(obj, errors, prefixed)
    _spec(obj.get("spec") or {}, errors, options, any_values)
    _hostname(obj, errors)


def _hostname(obj: JsonObject, errors: list[FieldError]) -> None:
    """The name of an indexed job must allow the hostname of its last pod."""
    spec, name = obj.get("spec") or {}, obj["metadata"].get("name", "")
    completions = spec.get("completions", 0)
    if spec.get("completionMode") == "Indexed" and completions > 0:
        hostname = f"{name}-{completions - 1}"
        if is_dns1123_label(hostname):
            text = f"will not able to create pod with invalid DNS label: {hostname}"
            errors.append(invalid("metadata.name", name, text))


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    _job(obj, errors, template_options(None, context.enabled), prefixed=True, any_values=False)
    return errors


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    options = template_options(templates.template_of(old), context.enabled)
    any_values = options.any_selector_values or has_invalid_value(before.get("selector"))
    narrowed, errors = context.enabled("JobUpdatesNarrowed"), list[FieldError]()
    if not narrowed:
        errors += validate_object_meta(obj["metadata"], True, name_is_dns_subdomain)
        labels = template_labels(templates.template_of(old))
        _job(obj, errors, options, JOB_NAME in labels and CONTROLLER_UID in labels, any_values)
    errors += recheck_object_meta_update(obj["metadata"], old["metadata"])
    _spec(spec, errors, options, any_values)
    _completions(spec, before, errors)
    _immutable(spec, before, "selector", errors)
    _template(spec, old, errors, context.enabled)
    for key in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        _immutable(spec, before, key, errors)
    errors += validate_job_scheduling_update(spec, before)
    if narrowed:
        _hostname(obj, errors)
    return errors


def _immutable(spec: JsonObject, before: JsonObject, key: str, errors: list[FieldError]) -> None:
    value = spec.get(key)
    if value == before.get(key):
        return
    internal = {"podFailurePolicy": "PodFailurePolicy", "successPolicy": "SuccessPolicy"}
    shown = selector_json(value) if key == "selector" else value
    errors.append(invalid(f"spec.{key}", internal_json(internal[key], value) if key in internal else shown, IMMUTABLE))


def _completions(spec: JsonObject, before: JsonObject, errors: list[FieldError]) -> None:
    completions = spec.get("completions")
    if completions == before.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        errors.append(invalid("spec.completions", completions, IMMUTABLE))
    elif completions is not None and completions != spec.get("parallelism"):
        text = "can only be modified in tandem with spec.parallelism"
        errors.append(invalid("spec.completions", completions, text))


def _template(spec: JsonObject, old: JsonObject, errors: list[FieldError], enabled: Enabled) -> None:
    """A suspended Job may change scheduling directives and resources of its pods (KEP-2926, KEP-5440)."""
    before, status = old.get("spec") or {}, old.get("status") or {}
    new, expected = spec.get("template") or {}, copy.deepcopy(before.get("template") or {})
    suspended, started = bool(before.get("suspend")), "startTime" in status
    conditions = status.get("conditions") or ()
    is_suspended = any(c.get("type") == "Suspended" and c.get("status") == "True" for c in conditions)
    idle = suspended and (not started or is_suspended) and not status.get("active")
    moves = idle if enabled("MutableSchedulingDirectivesForSuspendedJobs") else suspended and not started
    resizes = idle and enabled("MutablePodResourcesForSuspendedJobs")
    pod, old_pod, grouped = new.get("spec") or {}, expected.get("spec") or {}, enabled("SchedulingGroupShown")
    if moves:
        _take_node_affinity(pod, old_pod)
        _take(pod, old_pod, _DIRECTIVES)
        _take(new.get("metadata") or {}, expected.setdefault("metadata", {}), ("annotations", "labels"))
    if resizes:
        _take_resources(pod, old_pod)
        if pod != old_pod:
            errors.append(invalid("spec.template.spec", template_json("PodSpec", pod, grouped), IMMUTABLE))
    elif pod != old_pod or (new.get("metadata") or {}) != (expected.get("metadata") or {}):
        errors.append(invalid("spec.template", template_json("PodTemplateSpec", new, grouped), IMMUTABLE))


def _take(new: JsonObject, old: JsonObject, keys: Iterable[str]) -> None:
    """Gives some members of `old` the values that `new` has."""
    for key in keys:
        old.pop(key, None)
        if key in new:
            old[key] = new[key]


def _take_node_affinity(pod: JsonObject, old_pod: JsonObject) -> None:
    affinity, old_affinity = pod.get("affinity"), old_pod.get("affinity")
    if affinity is None and old_affinity is None:
        return
    merged = {key: value for key, value in (old_affinity or {}).items() if key != "nodeAffinity"}
    if affinity is not None and "nodeAffinity" in affinity:
        merged["nodeAffinity"] = affinity["nodeAffinity"]
    if merged or affinity is not None:
        old_pod["affinity"] = merged
    else:
        old_pod.pop("affinity", None)


def _take_resources(pod: JsonObject, old_pod: JsonObject) -> None:
    for key in ("containers", "initContainers"):
        new, old = pod.get(key) or [], old_pod.get(key) or []
        if len(new) != len(old):
            continue
        for container, before in zip(new, old, strict=True):
            if container.get("name") == before.get("name"):
                before.pop("resources", None)
                if "resources" in container:
                    before["resources"] = container["resources"]


def job_warnings(spec: JsonObject, path: str) -> Iterator[str]:
    """Yields the warnings for a Job's spec at `path`."""
    many = spec.get("completions", 0) > _MANY_COMPLETIONS and spec.get("parallelism", 0) > _MANY_PODS
    if many and spec.get("completionMode") == "Indexed":
        yield f"{path}: {_MANY}"
    yield from templates.warnings_about(spec.get("template") or {}, f"{path}.template")


def _warnings_on_create(obj: JsonObject, context: WriteContext) -> Iterator[str]:
    yield from name_warning(obj["metadata"].get("name", ""), templates.POD_NAMES)
    yield from job_warnings(obj.get("spec") or {}, "spec")


def _warnings_on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> Iterable[str]:
    if obj["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return job_warnings(obj.get("spec") or {}, "spec")


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_job_status_update(obj, old)


STRATEGIES = with_status(
    Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=templates.prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings_on_create,
        warnings_on_update=_warnings_on_update,
        canonicalize=_take_labels,
        rechecks_metadata=False,
        dependents=Dependents.ORPHAN,
        warning_on_default_dependents=_PODS_STAY,
    ),
    _validate_status,
)
