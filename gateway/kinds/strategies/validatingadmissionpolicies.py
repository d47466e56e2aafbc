"""ValidatingAdmissionPolicies: the type checker writes the status."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.jsonpath_nodes import PathError
from gateway.kinds.columns.jsonpath_parser import parse
from gateway.kinds.strategies.expressions import PolicyCompilers
from gateway.kinds.strategies.status import counting, empty_status, keep_spec_and_metadata
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.validation.admission_policy import validate_validating_policy
from gateway.validation.admission_rules import static_suffix_warnings
from gateway.validation.conditions import validate_conditions
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.objectmeta import validate_object_meta

_prepare_for_create = empty_status({}, generation=True)


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    status, found = obj.get("status") or {}, list[FieldError]()
    for i, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or ()):
        path = f"status.typeChecking.expressionWarnings[{i}]"
        if not warning.get("warning"):
            found.append(required(f"{path}.warning"))
        found += _field_ref(warning.get("fieldRef", "").strip(), f"{path}.fieldRef")
    return found + validate_conditions(status.get("conditions"), "status.conditions")


def _field_ref(reference: str, path: str) -> list[FieldError]:
    if not reference:
        return [required(path)]
    try:
        parse(reference)
    except PathError as error:
        return [invalid(path, reference, f"invalid JSONPath: {error}")]
    return []


def _warnings(obj: JsonObject, context: WriteContext) -> list[str]:
    return static_suffix_warnings(obj)


def _update_warnings(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[str]:
    return static_suffix_warnings(obj)


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies; expressions may use the CEL functions of the release."""

    def validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
        return validate_validating_policy(obj, None, PolicyCompilers(None, enabled))

    def validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
        found = validate_object_meta(obj["metadata"], False, standard_finalizers=False)
        return found + validate_validating_policy(obj, old, PolicyCompilers(old, enabled))

    return {
        "": Strategy(
            prepare_for_create=_prepare_for_create,
            prepare_for_update=counting(),
            validate=validate,
            validate_update=validate_update,
            standard_finalizers=False,
            governs=True,
            rechecks_metadata=False,
            warnings_on_create=_warnings,
            warnings_on_update=_update_warnings,
            allow_unconditional_update=False,
            reset_fields=(("status",),),
        ),
        "status": Strategy(
            prepare_for_create=_prepare_for_create,
            validate=validate,
            warnings_on_create=_warnings,
            allow_create_on_apply=True,
            prepare_for_update=keep_spec_and_metadata,
            validate_update=_validate_status,
            standard_finalizers=False,
            rechecks_metadata=False,
            warnings_on_update=_update_warnings,
            allow_unconditional_update=False,
            reset_fields=(("metadata",), ("spec",)),
        ),
    }
