"""PodDisruptionBudgets (page "Disruptions")."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import counting, empty_status, keep_spec
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.schema.integers import clamped
from gateway.validation.checks import each, known, not_negative
from gateway.validation.conditions import validate_conditions
from gateway.validation.field import FieldError, invalid
from gateway.validation.formats import is_percent
from gateway.validation.go_structs import verbatim
from gateway.validation.labels import validate_label_selector
from gateway.validation.names import name_is_path_segment

EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def count_or_percent(path: str, value: Any) -> list[FieldError]:
    """The errors of a value that must be a number of at least 0, or a percentage up to 100%."""
    if not isinstance(value, str):
        return not_negative(path, value)
    messages = is_percent(value)
    if not messages and clamped(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return each(path, value, messages)


def _validate_spec(spec: JsonObject, any_value: bool) -> list[FieldError]:
    found, keys = list[FieldError](), ("minAvailable", "maxUnavailable")
    if all(key in spec for key in keys):
        shown = verbatim("io.k8s.api.policy.v1.PodDisruptionBudgetSpec", spec)
        found.append(invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    for key in keys:
        if key in spec:
            found += count_or_percent(f"spec.{key}", spec[key])
    found += validate_label_selector(spec.get("selector"), "spec.selector", allow_invalid_values=any_value)
    if (policy := spec.get("unhealthyPodEvictionPolicy")) is not None:
        found += known("spec.unhealthyPodEvictionPolicy", policy, EVICTION_POLICIES)
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _validate_spec(obj.get("spec", {}), False)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    any_value = bool(validate_label_selector(old.get("spec", {}).get("selector"), ""))
    return _validate_spec(obj.get("spec", {}), any_value)


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    status = obj.get("status") or {}
    found = validate_conditions(status.get("conditions"), "status.conditions")
    return found + [error for key in COUNTS for error in not_negative(f"status.{key}", status.get(key, 0))]


STRATEGIES = {
    "": Strategy(
        prepare_for_create=empty_status(dict.fromkeys(COUNTS, 0), generation=True),
        prepare_for_update=counting(),
        validate=_validate,
        validate_update=_validate_update,
        standard_finalizers=False,
        metadata_last=True,
        rechecks_metadata=False,
        validate_name=name_is_path_segment,
        allow_unconditional_update=False,
        reset_fields=(("status",),),
    ),
    "status": Strategy(
        prepare_for_update=keep_spec,
        validate_update=_validate_status,
        standard_finalizers=False,
        rechecks_metadata=False,
        allow_unconditional_update=False,
        reset_fields=(("spec",),),
    ),
}
