"""ValidatingAdmissionPolicyBindings."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.admission_objects import admission_strategy
from gateway.validation.admission_policy import validate_policy_binding
from gateway.validation.field import FieldError


def _check(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    return validate_policy_binding(obj, mutating=False)


STRATEGIES = {"": admission_strategy(_check)}
