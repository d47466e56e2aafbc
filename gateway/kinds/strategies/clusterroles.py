"""ClusterRoles: rules and aggregation."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy, WriteContext
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.labels import validate_label_selector
from gateway.validation.objectmeta import recheck_object_meta_update, validate_object_meta
from gateway.validation.rbac import name_is_rbac, validate_rules

_PATH = "aggregationRule.clusterRoleSelectors"


def _selectors(obj: JsonObject) -> list[JsonObject]:
    selectors: list[JsonObject] = (obj.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    return selectors


def _validate_role(obj: JsonObject, any_value: bool) -> list[FieldError]:
    found = validate_rules(obj, False)
    if obj.get("aggregationRule") is not None and not _selectors(obj):
        message = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        found.append(required(_PATH, message))
    for i, selector in enumerate(_selectors(obj)):
        errors = validate_label_selector(selector, f"{_PATH}[{i}]", allow_invalid_values=any_value)
        found += errors
        if errors or (any_value and validate_label_selector(selector, "")):
            found.append(invalid(f"{_PATH}[{i}]", None, "invalid label selector."))
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _validate_role(obj, False)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    any_value = any(validate_label_selector(selector, "") for selector in _selectors(old))
    found = validate_object_meta(obj["metadata"], False, name_is_rbac) + _validate_role(obj, any_value)
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
