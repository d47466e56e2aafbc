"""The pod failure policy of a Job (page "Jobs", "Pod failure policy")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import (
    FieldError,
    duplicate,
    go_value,
    invalid,
    not_supported,
    required,
    too_many,
    valueless,
)
from gateway.validation.formats import validate_qualified_name
from gateway.validation.internal_form import go_json

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_MAX_RULES, _MAX_PATTERNS, _MAX_VALUES = 20, 20, 255


def _one_of(value: str, supported: tuple[str, ...], path: str, errors: list[FieldError]) -> None:
    if not value:
        listed = " ".join(go_value(each) for each in supported)
        errors.append(required(path, f"valid values: [{listed}]"))
    elif value not in supported:
        errors.append(not_supported(path, value, supported))


def validate_pod_failure_policy(spec: JsonObject, path: str, errors: list[FieldError]) -> None:
    """Checks podFailurePolicy in the spec of a Job; `path` is the path of the policy."""
    rules = spec["podFailurePolicy"].get("rules") or []
    if len(rules) > _MAX_RULES:
        errors.append(too_many(f"{path}.rules", len(rules), _MAX_RULES))
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {c.get("name", "") for key in ("containers", "initContainers") for c in pod.get(key) or ()}
    for i, rule in enumerate(rules):
        _rule(rule, f"{path}.rules[{i}]", errors, names, "backoffLimitPerIndex" in spec)


def _rule(rule: JsonObject, path: str, errors: list[FieldError], names: set[str], per_index: bool) -> None:
    action, codes, conditions = rule.get("action", ""), rule.get("onExitCodes"), rule.get("onPodConditions")
    if action == "FailIndex":
        if not per_index:
            errors.append(invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set"))
    else:
        _one_of(action, _ACTIONS, f"{path}.action", errors)
    if codes is not None:
        _exit_codes(codes, f"{path}.onExitCodes", errors, names)
    if conditions:
        _pod_conditions(conditions, f"{path}.onPodConditions", errors)
    if codes is not None and conditions:
        errors.append(valueless(path, "specifying both OnExitCodes and OnPodConditions is not supported"))
    if codes is None and not conditions:
        errors.append(valueless(path, "specifying one of OnExitCodes and OnPodConditions is required"))


def _pod_conditions(patterns: list[JsonObject], path: str, errors: list[FieldError]) -> None:
    if len(patterns) > _MAX_PATTERNS:
        errors.append(too_many(path, len(patterns), _MAX_PATTERNS))
    for i, pattern in enumerate(patterns):
        errors += validate_qualified_name(f"{path}[{i}].type", pattern.get("type", ""))
        _one_of(pattern.get("status", ""), _STATUSES, f"{path}[{i}].status", errors)


def _exit_codes(codes: JsonObject, path: str, errors: list[FieldError], names: set[str]) -> None:
    operator, container, values = codes.get("operator", ""), codes.get("containerName"), codes.get("values") or []
    _one_of(operator, _OPERATORS, f"{path}.operator", errors)
    if container is not None and container not in names:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", container, text))
    at = f"{path}.values"
    if not values:
        errors.append(invalid(at, go_json(codes.get("values")), "at least one value is required"))
    elif len(values) > _MAX_VALUES:
        errors.append(too_many(at, len(values), _MAX_VALUES))
    seen: set[int] = set()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{at}[{i}]", value, "must not be 0 for the In operator"))
        if value in seen:
            errors.append(duplicate(f"{at}[{i}]", value))
        seen.add(value)
    if values != sorted(values):
        errors.append(invalid(at, values, "must be ordered"))
