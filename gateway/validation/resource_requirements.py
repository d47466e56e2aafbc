"""Resource requests, limits and claims of containers and pods (page "Resource Management for Pods and Containers")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Set
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.pod_total import HUGE_PAGES
from gateway.validation.field import FieldError, duplicate, forbidden, invalid, not_found, required
from gateway.validation.formats import validate_dns1123_label
from gateway.validation.quantities import is_negative, quantity_of, validate_quantity
from gateway.validation.resource_names import (
    CONTAINER,
    is_huge_page,
    is_overcommit_allowed,
    validate_container_resource_name,
)

NameCheck = Callable[[str, str], list[FieldError]]
_COMPUTE = ("cpu", "memory")


def validate_resource_requirements(
    requirements: JsonObject,
    path: str,
    errors: list[FieldError],
    claim_names: Set[str] = frozenset(),
    *,
    check_name: NameCheck = validate_container_resource_name,
    allow_indivisible_huge_pages: bool = False,
) -> None:
    """Adds the errors of requests, limits and claims. `claim_names` are the names in spec.resourceClaims of the pod."""
    limits: dict[str, Any] = requirements.get("limits") or {}
    requests: dict[str, Any] = requirements.get("requests") or {}
    of_container = check_name is validate_container_resource_name
    for name, quantity in limits.items():
        if not (of_container and _is_sound(name, quantity)):
            at = f"{path}.limits[{name}]"
            _quantity(name, quantity, at, errors, check_name, allow_indivisible_huge_pages)
    for name, quantity in requests.items():
        if of_container and _is_sound(name, quantity) and _is_within(quantity, limits.get(name)):
            continue
        at = f"{path}.requests[{name}]"
        errors += check_name(name, at)
        validate_quantity(name, quantity, at, errors)
        _against_limit(name, quantity, limits.get(name), path, errors)
        if is_huge_page(name):
            _huge_page(name, quantity, at, errors, allow_indivisible_huge_pages)
    if not any(name in limits or name in requests for name in _COMPUTE) and _has_huge_pages(limits, requests):
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    if claims := requirements.get("claims"):
        _claims(claims, claim_names, f"{path}.claims", errors)


def _is_sound(name: str, quantity: Any) -> bool:
    """Whether an amount has certainly no errors, as is usual: CPU, memory or storage that is not negative."""
    return name in CONTAINER and not is_negative(quantity)


def _is_within(request: Any, limit: Any) -> bool:
    return limit is None or quantity_of(request) <= quantity_of(limit)


def _quantity(
    name: str, quantity: Any, path: str, errors: list[FieldError], check_name: NameCheck, any_huge_pages: bool
) -> None:
    errors += check_name(name, path)
    validate_quantity(name, quantity, path, errors)
    if is_huge_page(name):
        _huge_page(name, quantity, path, errors, any_huge_pages)


def _against_limit(name: str, request: Any, limit: Any, path: str, errors: list[FieldError]) -> None:
    if limit is None:
        if not is_overcommit_allowed(name):
            errors.append(required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
    elif request != limit:
        wanted, most = quantity_of(request), quantity_of(limit)
        if wanted != most and not is_overcommit_allowed(name):
            errors.append(invalid(f"{path}.requests", request, f"must be equal to {name} limit of {limit}"))
        elif wanted > most:
            errors.append(
                invalid(f"{path}.requests", request, f"must be less than or equal to {name} limit of {limit}")
            )


def _has_huge_pages(limits: dict[str, Any], requests: dict[str, Any]) -> bool:
    return any(map(is_huge_page, limits)) or any(map(is_huge_page, requests))


def is_divisible_huge_page(name: str, quantity: Any) -> bool:
    """Whether the quantity is a multiple of the page size in the resource's name."""
    size = quantity_of(name.removeprefix(HUGE_PAGES))
    whole = size.value
    return (
        size.unscaled > 0 and size.milli_value % 1000 == 0 and whole != 0 and quantity_of(quantity).value % whole == 0
    )


def _huge_page(name: str, quantity: Any, path: str, errors: list[FieldError], allow_indivisible: bool) -> None:
    if not allow_indivisible and not is_divisible_huge_page(name, quantity):
        errors.append(invalid(path, quantity, f"{quantity} is not positive integer multiple of {name}"))


def _claims(claims: list[JsonObject], pod_claims: Set[str], path: str, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    parts = Counter[str]()  # for each claim: how many of its requests came so far
    known = _Known(pod_claims)
    for i, claim in enumerate(claims):
        name, request, at = claim.get("name", ""), claim.get("request", ""), f"{path}[{i}]"
        if not name:
            errors.append(required(at))
            continue
        if name in seen:
            errors.append(duplicate(at, name))
        else:
            if request:
                errors += validate_dns1123_label(f"{at}.request", request)
            key = f"{name}/{request}" if request else name
            if key in seen:
                errors.append(duplicate(at, key))
            elif not request:
                errors += [duplicate(at, name) for _ in range(parts[name])]
            if "/" in key and key not in seen:
                parts[key.partition("/")[0]] += 1
            seen.add(key)
        if name not in pod_claims:
            errors.append(not_found(at, name, known))


class _Known:
    """The detail that lists the claims of a pod, built when it is read."""

    def __init__(self, names: Set[str]) -> None:
        self._names = names

    def __call__(self) -> str:
        known = f": {', '.join(sorted(self._names))}" if self._names else " which is empty"
        return f"must be one of the names in pod.spec.resourceClaims{known}"
