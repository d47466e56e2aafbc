"""Deployments (page "Deployments")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.strategies import templates
from gateway.kinds.strategies.status import bump_generation
from gateway.kinds.strategy import Strategy
from gateway.validation.field import FieldError, forbidden, invalid, not_supported, required
from gateway.validation.formats import NOT_NEGATIVE
from gateway.validation.int_or_percent import number_of, validate_at_most_100_percent, validate_int_or_percent
from gateway.validation.internal_form import internal_json, selector_json
from gateway.validation.pod_options import PodOptions
from gateway.validation.pod_template import template_options
from gateway.validation.workload import (
    selector_is_usable,
    validate_collision_count,
    validate_counts,
    validate_immutable_selector,
    validate_not_above,
    validate_replica_template,
    validate_selector,
)

_STATUS_COUNTS = (
    *("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
    *("unavailableReplicas", "terminatingReplicas", "collisionCount"),
)


def _prepare_for_update(obj: JsonObject, old: JsonObject, attributes: Attributes) -> None:
    templates.prepare_for_update(obj, old, attributes)
    annotations, before = obj["metadata"].get("annotations"), old["metadata"].get("annotations")
    if obj.get("spec") == old.get("spec") and (annotations or {}) != (before or {}):
        bump_generation(obj, old)


def _prepare_status(obj: JsonObject, old: JsonObject, attributes: Attributes) -> None:
    templates.prepare_status(obj, old, attributes)
    obj["metadata"].pop("labels", None)
    if labels := old["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _strategy(strategy: JsonObject, path: str, errors: list[FieldError]) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    at = f"{path}.rollingUpdate"
    if kind == "Recreate":
        if rolling is not None:
            errors.append(forbidden(at, "may not be specified when strategy `type` is 'Recreate'"))
    elif kind == "RollingUpdate":
        if rolling is None:
            errors.append(required(at, "this should be defaulted and never be nil"))
        else:
            _rolling_update(rolling, at, errors)
    else:
        shown = internal_json("DeploymentStrategy", strategy)
        errors.append(not_supported(path, shown, ("Recreate", "RollingUpdate")))


def _rolling_update(rolling: JsonObject, path: str, errors: list[FieldError]) -> None:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    errors += validate_int_or_percent(unavailable, f"{path}.maxUnavailable")
    errors += validate_int_or_percent(surge, f"{path}.maxSurge")
    if not number_of(unavailable) and not number_of(surge):
        errors.append(invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    errors += validate_at_most_100_percent(unavailable, f"{path}.maxUnavailable")


def _spec(spec: JsonObject, errors: list[FieldError], options: PodOptions) -> None:
    selector, template = spec.get("selector"), spec.get("template") or {}
    validate_counts(spec, ("replicas",), "spec", errors)
    validate_selector(selector, "spec.selector", errors, "deployment")
    if selector_is_usable(selector):
        validate_replica_template(selector, template, "spec.template", errors, options)
    else:
        errors.append(invalid("spec.selector", selector_json(selector), "invalid label selector"))
    _strategy(spec.get("strategy") or {}, "spec.strategy", errors)
    validate_counts(spec, ("minReadySeconds", "revisionHistoryLimit"), "spec", errors)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        if deadline < 0:
            errors.append(invalid("spec.progressDeadlineSeconds", deadline, NOT_NEGATIVE))
        if deadline <= spec.get("minReadySeconds", 0):
            errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))


def _validate(obj: JsonObject, attributes: Attributes) -> list[FieldError]:
    errors: list[FieldError] = []
    _spec(obj.get("spec") or {}, errors, template_options(None))
    return errors


def _validate_update(obj: JsonObject, old: JsonObject, attributes: Attributes) -> list[FieldError]:
    if obj.get("spec") == old.get("spec"):
        return []
    errors: list[FieldError] = []
    _spec(obj.get("spec") or {}, errors, template_options(templates.template_of(old)))
    validate_immutable_selector(obj.get("spec") or {}, old.get("spec") or {}, errors)
    return errors


def _validate_status(obj: JsonObject, old: JsonObject, attributes: Attributes) -> list[FieldError]:
    errors: list[FieldError] = []
    status, counters = obj.get("status") or {}, ("updatedReplicas", "readyReplicas", "availableReplicas")
    validate_counts(status, _STATUS_COUNTS, "status", errors)
    validate_not_above(status, counters, "replicas", "status", errors, "status.replicas")
    validate_not_above(status, ("availableReplicas",), "readyReplicas", "status", errors, "readyReplicas")
    validate_collision_count(status, old.get("status") or {}, errors)
    return errors


STRATEGIES = {
    "": Strategy(
        prepare_for_create=templates.creating(),
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=templates.warnings_on_create,
        warnings_on_update=templates.warnings_on_update,
        reset_fields=(("status",),),
    ),
    "status": Strategy(
        prepare_for_update=_prepare_status,
        validate_update=_validate_status,
        reset_fields=(("spec",), ("metadata", "labels")),
    ),
}
