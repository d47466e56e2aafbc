"""Deployments (page "Deployments")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.conversions.annotated_fields import ROLLBACK, number, put
from gateway.kinds.strategies import templates
from gateway.kinds.strategies.status import bump_generation
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError, forbidden, invalid, not_supported, required
from gateway.validation.formats import NOT_NEGATIVE
from gateway.validation.int_or_percent import number_of, validate_at_most_100_percent, validate_int_or_percent
from gateway.validation.internal_form import internal_json
from gateway.validation.pod_options import PodOptions
from gateway.validation.workload import (
    validate_available,
    validate_collision_count,
    validate_counts,
    validate_selected_template,
)

_STATUS_COUNTS = (
    *("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"),
    *("unavailableReplicas", "terminatingReplicas", "collisionCount"),
)


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    templates.prepare_for_update(obj, old, context)
    annotations, before = obj["metadata"].get("annotations"), old["metadata"].get("annotations")
    if obj.get("spec") == old.get("spec") and (annotations or {}) != (before or {}):
        bump_generation(obj, old)


def _prepare_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    templates.prepare_status(obj, old, context)
    put(obj, ROLLBACK, number(old, ROLLBACK))  # in Go's internal type it is a part of the spec
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
    validate_counts(spec, ("replicas",), "spec", errors)
    validate_selected_template(spec, errors, options)
    _strategy(spec.get("strategy") or {}, "spec.strategy", errors)
    validate_counts(spec, ("minReadySeconds", "revisionHistoryLimit"), "spec", errors)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        if deadline < 0:
            errors.append(invalid("spec.progressDeadlineSeconds", deadline, NOT_NEGATIVE))
        if deadline <= spec.get("minReadySeconds", 0):
            errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))


def _rollback(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    revision = number(obj, ROLLBACK)
    return [invalid("spec.rollback.version", revision, NOT_NEGATIVE)] if revision is not None and revision < 0 else []


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return [*_validate_spec(obj, context), *_rollback(obj, context)]


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return [*_validate_spec_update(obj, old, context), *_rollback(obj, context)]


_validate_spec, _validate_spec_update = templates.validating(_spec), templates.validating_update(_spec)


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    status = obj.get("status") or {}
    errors = validate_available(status, _STATUS_COUNTS, ("updatedReplicas", "readyReplicas", "availableReplicas"))
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
