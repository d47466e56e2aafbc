"""ControllerRevisions: immutable snapshots of a controller's state."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import same_text
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.internal_form import free_json
from gateway.validation.names import name_is_dns_subdomain
from gateway.validation.objectmeta import IMMUTABLE, validate_object_meta


def _revision(obj: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    if (revision := obj.get("revision", 0)) < 0:
        errors.append(invalid("revision", revision, "must be greater than or equal to 0"))
    return errors


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    errors = _revision(obj)
    data = obj.get("data")
    if data is None:
        errors.append(required("data", "data is mandatory"))
    elif not isinstance(data, dict):
        errors.append(required("data", "data must be a valid JSON object"))
    return errors


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    errors = validate_object_meta(obj["metadata"], True, name_is_dns_subdomain) + _revision(obj)
    if not same_text(obj.get("data"), old.get("data")):
        errors.append(invalid("data", free_json(obj.get("data")), IMMUTABLE))
    return errors


STRATEGIES = {"": Strategy(validate=_validate, validate_update=_validate_update)}
