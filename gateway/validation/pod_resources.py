"""Resources of a whole pod: pod-level requests and limits (KEP-2837), and claims of devices."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.pod_total import is_pod_level, pod_total
from gateway.schema.quantity import Quantity
from gateway.validation.field import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from gateway.validation.formats import validate_dns1123_label
from gateway.validation.internal_form import internal_json
from gateway.validation.names import is_dns1123_subdomain
from gateway.validation.pod_options import PodOptions
from gateway.validation.quantities import quantity_of
from gateway.validation.resource_names import is_huge_page, validate_resource_name
from gateway.validation.resource_requirements import validate_resource_requirements

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"


def validate_pod_resources(
    spec: JsonObject, claims: Set[str], path: str, errors: list[FieldError], options: PodOptions
) -> None:
    resources, at = spec["resources"], f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        errors.append(forbidden(at, "may not be set for a windows pod"))
        return
    if "claims" in resources:
        errors.append(forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level"))
    validate_resource_requirements(
        resources,
        at,
        errors,
        claims,
        check_name=validate_pod_resource_name,
        allow_indivisible_huge_pages=options.indivisible_huge_pages,
    )
    _consistency(spec, resources, at, errors)


def _consistency(spec: JsonObject, resources: JsonObject, path: str, errors: list[FieldError]) -> None:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, total in _aggregate(spec, "requests").items():
        if name in requests and total > quantity_of(requests[name]):
            text = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(invalid(f"{path}.requests[{name}]", requests[name], text))
    for name, total in _aggregate(spec, "limits").items():
        if is_huge_page(name) and name in limits and total > quantity_of(limits[name]):
            text = f"must be greater than or equal to aggregate container limits of {total}"
            errors.append(invalid(f"{path}.limits[{name}]", limits[name], text))
    for i, container in enumerate(spec.get("containers") or ()):
        for name, limit in _resources(container, "limits").items():
            if name in limits and quantity_of(limit) > quantity_of(limits[name]):
                text = f"must be less than or equal to pod limits of {limits[name]}"
                errors.append(invalid(f"{path}.containers[{i}][{name}].limits", limit, text))


def _resources(container: JsonObject, kind: str) -> dict[str, Any]:
    return (container.get("resources") or {}).get(kind) or {}


def _aggregate(spec: JsonObject, kind: str) -> dict[str, Quantity]:
    """The requests or limits (`kind`) of all containers together, by resource (see `pod_total`)."""

    def needs(container: JsonObject) -> dict[str, Quantity]:
        return {name: quantity_of(amount) for name, amount in _resources(container, kind).items()}

    return pod_total(spec, needs)


def validate_pod_resource_name(name: str, path: str) -> list[FieldError]:
    """Checks the name of a pod-level resource."""
    found = validate_resource_name(name, path)
    if found or is_pod_level(name):
        return found
    return [not_supported(path, name, ("cpu", "hugepages-", "memory"))]


def validate_resource_claims(
    claims: list[JsonObject], meta: JsonObject | None, path: str, errors: list[FieldError]
) -> None:
    mirror = MIRROR_ANNOTATION in ((meta or {}).get("annotations") or {})
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        if mirror:
            errors.append(forbidden("[]", "static pods do not support resource claims"))
            continue
        name, at = claim.get("name", ""), f"{path}[{i}]"
        direct, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        if not name:
            errors.append(required(f"{at}.name"))
        elif name in seen:
            errors.append(duplicate(f"{at}.name", name))
        else:
            errors += validate_dns1123_label(f"{at}.name", name)
            seen.add(name)
        if (direct is None) == (template is None):
            one = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            none = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(invalid(at, internal_json("PodResourceClaim", claim), none if direct is None else one))
        for key, value in (("resourceClaimName", direct), ("resourceClaimTemplateName", template)):
            if value is not None:
                errors += [invalid(f"{at}.{key}", value, message) for message in is_dns1123_subdomain(value)]
