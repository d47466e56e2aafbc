"""MutatingAdmissionPolicyBindings."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.resources.strategies.status import counting, first_generation
from gateway.resources.strategy import Strategy, WriteContext
from gateway.validation.admission_policy import validate_policy_binding
from gateway.validation.admission_rules import static_suffix_warnings
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import validate_object_meta


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_policy_binding(obj, mutating=True)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_object_meta(obj["metadata"], False, standard_finalizers=False) + _validate(obj, context)


def _warnings(obj: JsonObject, context: WriteContext) -> list[str]:
    return static_suffix_warnings(obj)


def _update_warnings(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[str]:
    return static_suffix_warnings(obj)


STRATEGIES = {
    "": Strategy(
        prepare_for_create=first_generation,
        prepare_for_update=counting(status=False),
        validate=_validate,
        validate_update=_validate_update,
        rechecks_metadata=False,
        warnings_on_create=_warnings,
        warnings_on_update=_update_warnings,
        allow_unconditional_update=False,
        generation=True,
    )
}
