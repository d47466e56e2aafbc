"""The strategies that roles and bindings share: names, and updates that are validated as new objects."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import recheck_object_meta_update, validate_object_meta
from gateway.validation.rbac import name_is_rbac, role_changed, validate_binding

Errors = list[FieldError]


def rbac(
    namespaced: bool,
    validate: Callable[[JsonObject], Errors],
    validate_update: Callable[[JsonObject, JsonObject], Errors],
    validate_change: Callable[[JsonObject, JsonObject], Errors] | None = None,
) -> dict[str, Strategy]:
    """The strategy of a kind. `validate_update` gets the new and the old object; `validate_change` runs after it."""

    def on_create(obj: JsonObject, context: WriteContext) -> Errors:
        return validate(obj)

    def on_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> Errors:
        found = validate_object_meta(obj["metadata"], namespaced, name_is_rbac) + validate_update(obj, old)
        found += recheck_object_meta_update(obj["metadata"], old["metadata"])
        return found if validate_change is None else found + validate_change(obj, old)

    own = Strategy(
        validate=on_create,
        validate_update=on_update,
        validate_name=name_is_rbac,
        rechecks_metadata=False,
        allow_create_on_update=True,
        grants_rights=True,
        governs=True,
    )
    return {"": own}


def binding(namespaced: bool) -> dict[str, Strategy]:
    """The strategy of a binding: roleRef is immutable."""

    def validate(obj: JsonObject) -> Errors:
        return validate_binding(obj, namespaced)

    return rbac(namespaced, validate, lambda obj, old: validate(obj), role_changed)
