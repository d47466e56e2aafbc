"""LimitRanges: minima, maxima, defaults and ratios agree with each other (page "Limit Ranges")."""

from __future__ import annotations

from uuid import uuid4

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.schema.quantity import Quantity
from gateway.validation.field import FieldError, duplicate, forbidden, invalid, required
from gateway.validation.formats import validate_qualified_name
from gateway.validation.objectmeta import validate_object_meta
from gateway.validation.quantities import quantity_of
from gateway.validation.resource_names import (
    is_overcommit_allowed,
    validate_container_resource_name,
    validate_resource_name,
)

TYPES = ("Pod", "Container", "PersistentVolumeClaim")
MAX_MILLI = (2**63 - 1) // 1000


def _names(limit: JsonObject, key: str, path: str) -> list[FieldError]:
    rule = validate_container_resource_name if limit.get("type") in ("Pod", "Container") else validate_resource_name
    return [error for name in limit.get(key) or () for error in rule(name, f"{path}.{key}[{name}]")]


def _limit(limit: JsonObject, path: str) -> list[FieldError]:
    found = _names(limit, "max", path) + _names(limit, "min", path)
    keys = {"max", "min", "maxLimitRequestRatio"}
    for key in ("default", "defaultRequest"):
        if limit.get("type") != "Pod":
            found += _names(limit, key, path)
            keys.add(key)
        elif limit.get(key):
            found.append(forbidden(f"{path}.{key}", "may not be specified when `type` is 'Pod'"))
    bounds = {**(limit.get("min") or {}), **(limit.get("max") or {})}
    if limit.get("type") == "PersistentVolumeClaim" and "storage" not in bounds:
        message = "either minimum or maximum storage value is required, but neither was provided"
        found.append(required(f"{path}.limits", message))
    found += _names(limit, "maxLimitRequestRatio", path)
    given = {key: limit.get(key) or {} for key in keys}
    for name in sorted({name for values in given.values() for name in values}):
        found += _compared(name, {key: values[name] for key, values in given.items() if name in values}, path)
    return found


_WORDS = {"min": "min", "max": "max", "default": "default", "defaultRequest": "default request"}
# the first must not be greater than the second: (first, second, field in the error, value in the error)
_ORDER = (
    ("min", "max", "min", "min"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest"),
    ("min", "default", "default", "min"),
    ("default", "max", "default", "max"),
)


def _compared(name: str, values: dict[str, str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for high, low, key, shown in _ORDER:
        if high in values and low in values and quantity_of(values[high]) > quantity_of(values[low]):
            word = "default limit" if (high, low) == ("defaultRequest", "default") else _WORDS[low]
            message = f"{_WORDS[high]} value {values[high]} is greater than {word} value {values[low]}"
            found.append(invalid(f"{path}.{key}[{name}]", values[shown], message))
    found += _ratio(name, values, path)
    if not is_overcommit_allowed(name) and "default" in values and "defaultRequest" in values:
        default, request = values["default"], values["defaultRequest"]
        if quantity_of(default) != quantity_of(request):
            message = f"default value {default} must equal to defaultRequest value {request} in {name}"
            found.append(invalid(f"{path}.defaultRequest[{name}]", request, message))
    return found


def _ratio(name: str, values: dict[str, str], path: str) -> list[FieldError]:
    ratio, found = values.get("maxLimitRequestRatio"), list[FieldError]()
    if ratio is None:
        return found
    at = f"{path}.maxLimitRequestRatio[{name}]"
    if quantity_of(ratio) < Quantity(1):
        found.append(invalid(at, ratio, f"ratio {ratio} is less than 1"))
    if "min" in values and "max" in values:
        given = [quantity_of(value) for value in (ratio, values["min"], values["max"])]
        numbers = [quantity.value for quantity in given]
        exact = float(numbers[0])
        if max(numbers) < MAX_MILLI:
            numbers = [quantity.milli_value for quantity in given]
            exact = numbers[0] / 1000
        most = _quotient(numbers[2], numbers[1])
        if exact > most:
            shown = {float("inf"): "+Inf", float("-inf"): "-Inf"}.get(most, f"{most:f}")
            found.append(invalid(at, ratio, f"ratio {ratio} is greater than max/min = {shown}"))
    return found


def _quotient(a: int, b: int) -> float:
    """a / b as in floating point: a division by zero gives infinity or NaN."""
    if b:
        return a / b
    return float("nan") if a == 0 else float("inf") if a > 0 else float("-inf")


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    found, seen = list[FieldError](), set[str]()
    for i, limit in enumerate(obj.get("spec", {}).get("limits") or ()):
        path, kind = f"spec.limits[{i}]", limit.get("type", "")
        errors = validate_qualified_name(f"{path}.type", kind)
        if not errors and "/" not in kind and kind not in TYPES:
            errors.append(invalid(f"{path}.type", kind, "must be a standard limit type or fully qualified"))
        found += errors
        if kind in seen:
            found.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        found += _limit(limit, path)
    return found


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_object_meta(obj["metadata"], True) + _validate(obj, context)


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    if not obj["metadata"].get("name"):
        obj["metadata"]["name"] = str(uuid4())


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        validate=_validate,
        validate_update=_validate_update,
        rechecks_metadata=False,
        allow_create_on_update=True,
    )
}
