"""VolumeAttributesClasses: driverName and parameters are immutable."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError, forbidden
from gateway.validation.objectmeta import validate_object_meta
from gateway.validation.parameters import validate_parameters, validate_provisioner


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_provisioner(obj.get("driverName", ""), "driverName")
    return found + validate_parameters(obj.get("parameters") or {}, "parameters", allow_empty=False)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    changed = [key for key in ("driverName", "parameters") if (obj.get(key) or None) != (old.get(key) or None)]
    found = [forbidden(key, f"updates to {key} are forbidden.") for key in changed]
    return found + validate_object_meta(obj["metadata"], False) + _validate(obj, context)


STRATEGIES = {
    "": Strategy(
        validate=_validate,
        validate_update=_validate_update,
        returns_deleted=True,
    )
}
