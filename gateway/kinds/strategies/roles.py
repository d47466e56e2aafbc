"""Roles: validation is the same on every write."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy, WriteContext
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import recheck_object_meta_update, validate_object_meta
from gateway.validation.rbac import name_is_rbac, validate_rules


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_rules(obj, True)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], True, name_is_rbac) + _validate(obj, context)
    return found + recheck_object_meta_update(obj["metadata"], old["metadata"])


STRATEGIES = {
    "": Strategy(
        validate=_validate,
        validate_update=_validate_update,
        validate_name=name_is_rbac,
        rechecks_metadata=False,
        allow_create_on_update=True,
    )
}
