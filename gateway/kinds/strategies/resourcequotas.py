"""ResourceQuotas: resource names, amounts, scopes (page "Resource Quotas")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import empty_status, keep_spec, keep_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled
from gateway.schema.pod_total import HUGE_PAGES
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.go_structs import verbatim
from gateway.validation.objectmeta import IMMUTABLE
from gateway.validation.quantities import quantity_of, validate_quantity
from gateway.validation.resource_names import COMPUTE, COUNTED, REQUESTS, validate_resource_name

STANDARD = COMPUTE | COUNTED | {"requests.storage"}
_EXISTS_ONLY = frozenset({"BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"})
SCOPES = _EXISTS_ONLY | {"PriorityClass", "VolumeAttributesClass"}
CONFLICTS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_POD_COMPUTE = frozenset({"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
LIMITED_TO = dict.fromkeys(SCOPES, _POD_COMPUTE) | {
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
_EXISTS_MESSAGE = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _is_standard(name: str) -> bool:
    return name in STANDARD or name.startswith((HUGE_PAGES, REQUESTS + HUGE_PAGES))


def _amounts(amounts: dict[str, str] | None, path: str, *stored: dict[str, str] | None) -> list[FieldError]:
    """The errors of amounts. An amount that is already stored is not validated again (kubernetes 142190)."""
    found: list[FieldError] = []
    for name, value in (amounts or {}).items():
        at = f"{path}[{name}]"
        found += validate_resource_name(name, at)
        if "/" not in name and not _is_standard(name):
            found.append(invalid(at, name, "must be a standard resource for quota"))
        if not any(name in before and quantity_of(before[name]) == quantity_of(value) for before in stored if before):
            validate_quantity(name, value, at, found)
    return found


def _misapplied(scope: str, spec: JsonObject) -> int:
    """The number of resources in spec.hard that the scope cannot limit."""
    allowed = LIMITED_TO.get(scope)
    return sum(_is_standard(name) and allowed is not None and name not in allowed for name in spec.get("hard") or ())


def _scopes(spec: JsonObject) -> list[FieldError]:
    scopes: list[str] = spec.get("scopes") or []
    found: list[FieldError] = []
    misapplied = {scope: _misapplied(scope, spec) for scope in SCOPES}
    for scope in scopes:
        if scope not in SCOPES:
            found.append(invalid("spec.scopes", scopes, "unsupported scope"))
        for _ in range(misapplied.get(scope, 0)):
            found.append(invalid("spec.scopes", scopes, "unsupported scope applied to resource"))
    found += [invalid("spec.scopes", scopes, "conflicting scopes") for pair in CONFLICTS if pair <= set(scopes)]
    return found


def _selector(spec: JsonObject) -> list[FieldError]:
    selector, found = spec.get("scopeSelector"), list[FieldError]()
    if selector is None:
        return found
    path, expressions = "spec.scopeSelector.matchExpressions", selector.get("matchExpressions") or []
    misapplied = {scope: _misapplied(scope, spec) for scope in SCOPES}
    shown = verbatim("ScopeSelector", selector) if any(misapplied.values()) else ""
    for expression in expressions:
        scope, operator = expression.get("scopeName", ""), expression.get("operator", "")
        values = expression.get("values") or []
        if scope not in SCOPES:
            found.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        for _ in range(misapplied.get(scope, 0)):
            found.append(invalid(path, shown, "unsupported scope applied to resource"))
        if scope in _EXISTS_ONLY and operator != "Exists":
            found.append(invalid(f"{path}.operator", operator, _EXISTS_MESSAGE))
        if operator in ("In", "NotIn"):
            if not values:
                message = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                found.append(required(f"{path}.values", message))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                message = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                found.append(invalid(f"{path}.values", values, message))
        else:
            found.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    names = {expression.get("scopeName") for expression in expressions}
    found += [invalid(path, spec.get("scopes"), "conflicting scopes") for pair in CONFLICTS if pair <= names]
    return found


def _validate_spec(obj: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    spec, before = obj.get("spec", {}), (old or {}).get("spec", {})
    return _amounts(spec.get("hard"), "spec.hard", before.get("hard")) + _scopes(spec) + _selector(spec)


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _validate_spec(obj)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found, scopes = _validate_spec(obj, old), obj.get("spec", {}).get("scopes")
    if set(scopes or ()) != set(old.get("spec", {}).get("scopes") or ()):
        found.append(invalid("spec.scopes", scopes, IMMUTABLE))
    return found


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = [] if obj["metadata"].get("resourceVersion") else [required("resourceVersion")]
    status, before = obj.get("status") or {}, old.get("status") or {}
    hard = before.get("hard"), old.get("spec", {}).get("hard")
    return (
        found
        + _amounts(status.get("hard"), "status.hard", *hard)
        + _amounts(status.get("used"), "status.used", before.get("used"))
    )


def _warnings(obj: JsonObject, context: WriteContext) -> list[str]:
    hard, found = obj.get("spec", {}).get("hard") or {}, list[str]()
    for name in ("cpu", "memory", "storage", "ephemeral-storage"):
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        if request in hard and limit in hard and quantity_of(hard[request]) > quantity_of(hard[limit]):
            found.append(f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})")
    return found


def strategies(enabled: Enabled) -> dict[str, Strategy]:
    """The strategies. With QuotaRequestsAboveLimitsWarned, requests above limits get a warning."""
    return {
        "": Strategy(
            prepare_for_create=empty_status({}),
            prepare_for_update=keep_status,
            validate=_validate,
            validate_update=_validate_update,
            warnings_on_create=_warnings if enabled("QuotaRequestsAboveLimitsWarned") else None,
            reset_fields=(("status",),),
            returns_deleted=True,
        ),
        "status": Strategy(prepare_for_update=keep_spec, validate_update=_validate_status, reset_fields=(("spec",),)),
    }
