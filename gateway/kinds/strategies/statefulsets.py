"""StatefulSets (page "StatefulSets")."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies import templates
from gateway.kinds.strategies.status import with_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.claim_spec import validate_claim_spec
from gateway.validation.field import FieldError, forbidden, invalid, not_supported, required
from gateway.validation.formats import NOT_NEGATIVE, validate_dns1123_label
from gateway.validation.int_or_percent import number_of, validate_at_most_100_percent, validate_int_or_percent
from gateway.validation.internal_form import internal_json, internal_list_json, selector_json
from gateway.validation.labels import selector_is_empty, validate_annotations, validate_labels
from gateway.validation.names import name_is_dns_label
from gateway.validation.objectmeta import IMMUTABLE
from gateway.validation.pod_annotations import validate_pod_annotations
from gateway.validation.pod_options import PodOptions
from gateway.validation.pod_template import template_options, validate_pod_template
from gateway.validation.pod_warnings import claim_warnings
from gateway.validation.workload import (
    selector_is_usable,
    validate_always_restarts,
    validate_collision_count,
    validate_counts,
    validate_match,
    validate_not_above,
    validate_selector,
)

_MUTABLE = (
    *("replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit"),
    "persistentVolumeClaimRetentionPolicy",
)
_FORBIDDEN = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATUS_COUNTS = (
    *("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration"),
    "collisionCount",
)
_NEGATIVE_LIMIT = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


def _policies(spec: JsonObject, errors: list[FieldError]) -> None:
    management, strategy = spec.get("podManagementPolicy", ""), spec.get("updateStrategy") or {}
    if management not in ("OrderedReady", "Parallel"):
        at, text = "spec.podManagementPolicy", "must be 'OrderedReady' or 'Parallel'"
        errors.append(invalid(at, management, text) if management else required(at))
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if not kind:
        errors.append(required("spec.updateStrategy"))
    elif kind == "OnDelete":
        if rolling is not None:
            shown = internal_json("RollingUpdateStatefulSetStrategy", rolling)
            text = "only allowed for updateStrategy 'RollingUpdate'"
            errors.append(invalid("spec.updateStrategy.rollingUpdate", shown, text))
    elif kind == "RollingUpdate":
        if rolling is not None:
            _rolling_update(rolling, "spec.updateStrategy.rollingUpdate", errors)
    else:
        shown = internal_json("StatefulSetUpdateStrategy", strategy)
        errors.append(invalid("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'"))
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for key in ("whenDeleted", "whenScaled") if "persistentVolumeClaimRetentionPolicy" in spec else ():
        if (value := retention.get(key, "")) not in ("Retain", "Delete"):
            at = f"spec.persistentVolumeClaimRetentionPolicy.{key}"
            errors.append(not_supported(at, value, ("Retain", "Delete")))


def _rolling_update(rolling: JsonObject, path: str, errors: list[FieldError]) -> None:
    validate_counts(rolling, ("partition",), path, errors)
    unavailable, at = rolling.get("maxUnavailable"), f"{path}.maxUnavailable"
    if unavailable is not None:
        errors += validate_int_or_percent(unavailable, at)
        if not number_of(unavailable):
            errors.append(invalid(at, unavailable, "cannot be 0"))
        errors += validate_at_most_100_percent(unavailable, at)


def _spec(
    spec: JsonObject, errors: list[FieldError], options: PodOptions, *, update: bool, skip_template: bool = False
) -> None:
    _policies(spec, errors)
    if not update:
        for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            validate_claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}].spec", errors)
    validate_counts(spec, ("replicas", "minReadySeconds"), "spec", errors)
    start = (spec.get("ordinals") or {}).get("start", 0)
    if start < 0:
        errors.append(invalid("spec.ordinals.start", start, NOT_NEGATIVE))
    if not update and (service := spec.get("serviceName")):
        errors += validate_dns1123_label("spec.serviceName", service)
    selector, template = spec.get("selector"), spec.get("template") or {}
    validate_selector(selector, "spec.selector", errors, "statefulset")
    if selector_is_usable(selector):
        _template(spec, selector, errors, options, skip_template)
    else:
        errors.append(invalid("spec.selector", selector_json(selector), ""))
    validate_always_restarts(template, "spec.template", errors, "StatefulSet")


def _template(
    spec: JsonObject, selector: JsonObject | None, errors: list[FieldError], options: PodOptions, skip: bool
) -> None:
    """Validates the template with the volumes of the claim templates, and without hostname and subdomain.

    The controller sets these two.
    """
    template, path = dict(spec.get("template") or {}), "spec.template"
    pod = {key: value for key, value in (template.get("spec") or {}).items() if key not in ("subdomain", "hostname")}
    names = dict.fromkeys(
        (claim.get("metadata") or {}).get("name", "") for claim in spec.get("volumeClaimTemplates") or ()
    )
    if names:
        claims = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
        pod["volumes"] = claims + [v for v in pod.get("volumes") or () if v.get("name", "") not in names]
    template["spec"] = pod
    if selector is None or not selector_is_empty(selector):
        validate_match(selector, template, path, errors)
    if not skip:
        validate_pod_template(template, path, errors, options)
    meta = template.get("metadata") or {}
    annotations = meta.get("annotations") or {}
    errors += validate_labels(meta.get("labels") or {}, f"{path}.labels")
    errors += validate_annotations(annotations, f"{path}.annotations")
    validate_pod_annotations(annotations, pod, f"{path}.annotations", errors, options)


Changed = Callable[[JsonObject, JsonObject], list[FieldError]]


def _forbidden(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    changed = any(spec.get(key) != before.get(key) for key in {**spec, **before} if key not in _MUTABLE)
    return [forbidden("spec", _FORBIDDEN)] if changed else []


def _immutable(spec: JsonObject, before: JsonObject) -> list[FieldError]:
    """An error for each changed field; used with StatefulSetFieldsImmutable."""
    found = list[FieldError]()
    for key in ("selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"):
        new, old = spec.get(key), before.get(key)
        if new != old and (new or old):
            form = _FORMS.get(key)
            shown = new if form is None or new is None else form(new)
            found.append(invalid(f"spec.{key}", "" if new is None and isinstance(old, str) else shown, IMMUTABLE))
    return found


_FORMS: Mapping[str, Callable[[Any], Any]] = {
    "selector": selector_json,
    "volumeClaimTemplates": partial(internal_list_json, "PersistentVolumeClaim"),
}
"""How errors show the values of fields that are not strings."""


def _validate_update(changed: Changed, obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    old_errors: list[FieldError] = []
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    options = template_options(templates.template_of(old), context.enabled)
    _spec(before, old_errors, options, update=True)
    _spec(spec, errors, options, update=True, skip_template=bool(old_errors))
    return errors + changed(spec, before)


def _warnings(obj: JsonObject, claim_path: str) -> Iterator[str]:
    spec = obj.get("spec") or {}
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        yield from claim_warnings(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}]{claim_path}")
    if spec.get("revisionHistoryLimit", 0) < 0:
        yield _NEGATIVE_LIMIT


def _warnings_on_create(obj: JsonObject, context: WriteContext) -> Iterator[str]:
    yield from templates.warnings_about(templates.template_of(obj))
    yield from _warnings(obj, "")


def _warnings_on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> Iterator[str]:
    yield from templates.warnings_on_update(obj, old, context)
    yield from _warnings(obj, ".Spec")


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    status = obj.get("status") or {}
    counters = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    validate_counts(status, _STATUS_COUNTS, "status", errors)
    validate_not_above(status, counters, "replicas", "status", errors, "status.replicas")
    validate_not_above(status, ("availableReplicas",), "readyReplicas", "status", errors, "status.readyReplicas")
    validate_collision_count(status, old.get("status") or {}, errors)
    return errors


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies. StatefulSetFieldsImmutable changes the errors for immutable fields."""
    changed = _immutable if enabled("StatefulSetFieldsImmutable") else _forbidden
    return with_status(
        Strategy(
            prepare_for_create=templates.creating("replicas", "availableReplicas"),
            prepare_for_update=templates.prepare_for_update,
            validate=templates.validating(partial(_spec, update=False)),
            validate_update=templates.unless_same_spec(partial(_validate_update, changed)),
            warnings_on_create=_warnings_on_create,
            warnings_on_update=_warnings_on_update,
            validate_name=name_is_dns_label,
        ),
        _validate_status,
    )
