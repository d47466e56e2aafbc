"""ClusterRoles: rules and aggregation."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.rbac import rbac
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.labels import validate_label_selector
from gateway.validation.rbac import validate_rules

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


def _validate_update(obj: JsonObject, old: JsonObject) -> list[FieldError]:
    return _validate_role(obj, any(validate_label_selector(selector, "") for selector in _selectors(old)))


STRATEGIES = rbac(False, lambda obj: _validate_role(obj, False), _validate_update)
