"""HorizontalPodAutoscalers: validation, generation and status."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import counting, empty_status, keep_spec, keep_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.autoscaler import validate_autoscaler
from gateway.validation.checks import not_negative
from gateway.validation.field import FieldError


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    status = obj.get("status") or {}
    keys = ("currentReplicas", "desiredReplicas")
    found = [error for key in keys for error in not_negative(f"status.{key}", status.get(key, 0))]
    for i, condition in enumerate(status.get("conditions") or ()):  # a field that earlier types do not have
        observed = condition.get("observedGeneration", 0)
        found += not_negative(f"status.conditions[{i}].observedGeneration", observed)
    return found


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies, which depend on HPAScaleToZero, HPAGeneration and HPARequiresMaxReplicas."""
    to_zero, requires, counts = enabled("HPAScaleToZero"), enabled("HPARequiresMaxReplicas"), enabled("HPAGeneration")

    def validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate_autoscaler(obj, None, to_zero=to_zero, requires_most=requires)

    def validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate_autoscaler(obj, old, to_zero=to_zero, requires_most=requires)

    return {
        "": Strategy(
            prepare_for_create=empty_status({"desiredReplicas": 0, "currentMetrics": None}, generation=counts),
            prepare_for_update=counting() if counts else keep_status,
            validate=validate,
            validate_update=validate_update,
            reset_fields=(("status",),),
        ),
        "status": Strategy(prepare_for_update=keep_spec, validate_update=_validate_status, reset_fields=(("spec",),)),
    }
