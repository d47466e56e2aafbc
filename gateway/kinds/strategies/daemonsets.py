"""DaemonSets (page "DaemonSet")."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.jsontypes import JsonObject
from gateway.kinds.conversions.annotated_fields import TEMPLATE_GENERATION, number, put
from gateway.kinds.strategies import templates
from gateway.kinds.strategies.status import bump_generation, keep_spec, keep_status, with_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError, invalid, not_supported, required
from gateway.validation.int_or_percent import number_of, validate_at_most_100_percent, validate_int_or_percent
from gateway.validation.internal_form import internal_json, selector_json
from gateway.validation.labels import has_invalid_value, selector_is_empty, validate_label_selector
from gateway.validation.pod_options import PodOptions
from gateway.validation.pod_template import template_options, validate_pod_template
from gateway.validation.workload import (
    selector_is_usable,
    validate_always_restarts,
    validate_collision_count,
    validate_counts,
    validate_immutable_selector,
    validate_match,
)

_STATUS_COUNTS = (
    *("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration"),
    *("updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"),
)


def _template_generation(obj: JsonObject) -> int:
    """The template generation, which is in an annotation: apps/v1 no longer has the field."""
    return number(obj, TEMPLATE_GENERATION) or 0


def _set_template_generation(obj: JsonObject, generation: int) -> None:
    put(obj, TEMPLATE_GENERATION, generation)


_create = templates.creating("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    _create(obj, context)
    _set_template_generation(obj, max(_template_generation(obj), 1))


def _prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_status(obj, old, context)
    template, before = templates.template_of(obj), templates.template_of(old)
    templates.drop_template_fields(template, before)
    changed = template != before
    _set_template_generation(obj, _template_generation(old) + changed)
    if changed or obj.get("spec") != old.get("spec"):
        bump_generation(obj, old)


def _prepare_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_spec(obj, old, context)
    _set_template_generation(obj, _template_generation(old))


def _update_strategy(strategy: JsonObject, path: str, errors: list[FieldError]) -> None:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    at = f"{path}.rollingUpdate"
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        shown = internal_json("DaemonSetUpdateStrategy", strategy)
        errors.append(not_supported(path, shown, ("RollingUpdate", "OnDelete")))
    elif rolling is None:
        errors.append(required(at))
    else:
        _rolling_update(rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0), at, errors)


def _rolling_update(unavailable: int | str, surge: int | str, path: str, errors: list[FieldError]) -> None:
    for check in (validate_int_or_percent, validate_at_most_100_percent):
        errors += check(unavailable, f"{path}.maxUnavailable")
        errors += check(surge, f"{path}.maxSurge")
    if number_of(unavailable) and number_of(surge):
        errors.append(invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero"))
    elif not number_of(unavailable) and not number_of(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))


def _spec(obj: JsonObject, errors: list[FieldError], options: PodOptions, any_values: bool) -> None:
    spec = obj.get("spec") or {}
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors += validate_label_selector(selector, "spec.selector", allow_invalid_values=any_values)
    if selector_is_usable(selector):
        validate_match(selector, template, "spec.template", errors)
    if selector is not None and selector_is_empty(selector):
        errors.append(invalid("spec.selector", selector_json(selector), "empty selector is invalid for daemonset"))
    validate_pod_template(template, "spec.template", errors, options)
    validate_always_restarts(template, "spec.template", errors, "DaemonSet")
    validate_counts(spec, ("minReadySeconds",), "spec", errors)
    validate_counts({"templateGeneration": _template_generation(obj)}, ("templateGeneration",), "spec", errors)
    _update_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy", errors)
    validate_counts(spec, ("revisionHistoryLimit",), "spec", errors)


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    _spec(obj, errors, template_options(None, context.enabled), any_values=False)
    return errors


@templates.unless_same_spec
def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    before = old.get("spec") or {}
    validate_immutable_selector(obj.get("spec") or {}, before, errors)
    options = template_options(templates.template_of(old), context.enabled)
    any_values = options.any_selector_values or has_invalid_value(before.get("selector"))
    _spec(obj, errors, options, any_values)
    return errors


def _warnings_on_create(obj: JsonObject, context: WriteContext) -> Iterable[str]:
    return templates.warnings_about(templates.template_of(obj))


def _warnings_on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> Iterable[str]:
    if _template_generation(obj) == _template_generation(old):
        return []
    return templates.warnings_about(templates.template_of(obj))


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors: list[FieldError] = []
    status = obj.get("status") or {}
    validate_counts(status, _STATUS_COUNTS, "status", errors)
    validate_collision_count(status, old.get("status") or {}, errors)
    return errors


STRATEGIES = with_status(
    Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings_on_create,
        warnings_on_update=_warnings_on_update,
    ),
    _validate_status,
    prepare=_prepare_status,
)
