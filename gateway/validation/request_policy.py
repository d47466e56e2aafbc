"""Request policies, which say how requests for a share of a device's capacity are rounded (KEP-5075)."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.devices import validate_set
from gateway.validation.field import FieldError, forbidden, invalid, required
from gateway.validation.quantities import quantity_of

MAX_OPTIONS = 10


def validate_request_policy(policy: JsonObject, capacity: Any, path: str) -> list[FieldError]:
    """The errors of a request policy. `capacity` is the quantity that requests share."""
    values, span, default = policy.get("validValues"), policy.get("validRange"), policy.get("default")
    if values and span is not None:
        message = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [forbidden(path, message)]
    if values:
        if default is None:
            return [required(f"{path}.default", "required when validValues is defined")]
        return _values(values, default, capacity, f"{path}.validValues")
    if span is not None:
        if default is None:
            return [required(f"{path}.default", "required when validRange is defined")]
        return _range(span, default, capacity, f"{path}.validRange")
    return []


def _values(values: list[str], default: str, capacity: Any, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for i in range(len(values) - 1):
        if quantity_of(values[i]) > quantity_of(values[i + 1]):
            found.append(invalid(f"{path}[{i + 1}]", values[i + 1], "values must be sorted in ascending order"))

    def option(value: str, at: str) -> list[FieldError]:
        too_big = quantity_of(value) > quantity_of(capacity)
        return [invalid(at, value, f"option is larger than capacity value: {capacity}")] if too_big else []

    found += validate_set(values, MAX_OPTIONS, path, option, lambda value: str(quantity_of(value).value))
    if len(values) > MAX_OPTIONS or all(quantity_of(value) != quantity_of(default) for value in values):
        found.append(invalid(path, default, "default value is not valid according to the requestPolicy"))
    return found


def _range(span: JsonObject, default: str, capacity: Any, path: str) -> list[FieldError]:
    low, high, step = span.get("min"), span.get("max"), span.get("step")
    if low is None:
        return [required(f"{path}.min", "required when validRange is defined")]
    found: list[FieldError] = []
    least, wanted, most = quantity_of(low), quantity_of(default), quantity_of(capacity)
    if least > most:
        found.append(invalid(f"{path}.min", low, f"min is larger than capacity value: {capacity}"))
    if wanted < least:
        found.append(invalid(f"{path}.min", default, f"default is less than min: {low}"))
    if high is not None:
        if least > quantity_of(high):
            found.append(invalid(f"{path}.max", low, f"min is larger than max: {high}"))
        if quantity_of(high) > most:
            found.append(invalid(f"{path}.max", high, f"max is larger than capacity value: {capacity}"))
        if wanted > quantity_of(high):
            found.append(invalid(f"{path}.max", default, f"default is more than max: {high}"))
    if step is not None:
        one_step = least + quantity_of(step)
        if one_step > most:
            message = f"one step {one_step} is larger than capacity value: {capacity}"
            found.append(invalid(f"{path}.step", step, message))
        for value in (default, high) if high is not None else (default,):
            size = quantity_of(step).value
            if size and (quantity_of(value).value - least.value) % size:
                message = f"value is not a multiple of a given step ({step}) from ({low})"
                found.append(invalid(f"{path}.step", value, message))
    return found
