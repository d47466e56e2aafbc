"""Request policies, which say how requests for a share of a device's capacity are rounded (KEP-5075)."""

from __future__ import annotations

from typing import Any, NamedTuple

from gateway.jsontypes import JsonObject
from gateway.schema.quantity import Quantity
from gateway.validation.devices import validate_set
from gateway.validation.field import FieldError, forbidden, invalid, required
from gateway.validation.formats import NOT_NEGATIVE, POSITIVE
from gateway.validation.quantities import quantity_of

MAX_OPTIONS, MAX_INT64 = 10, 2**63 - 1


class RequestPolicyRules(NamedTuple):
    """How capacities and the ranges of their request policies are judged in a release.

    `ratcheted`: capacities that an update leaves are not judged again, the numbers of a range are bounded, and a
    default outside of the range is an error of the default. `fractional`: the numbers may be fractions, to thousandths.
    """

    ratcheted: bool
    fractional: bool


def validate_request_policy(
    policy: JsonObject, capacity: Any, path: str, ranges: RequestPolicyRules
) -> list[FieldError]:
    """The errors of a request policy. `capacity` is the quantity that requests share."""
    values, span, default = policy.get("validValues"), policy.get("validRange"), policy.get("default")
    if values and span is not None:
        message = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        return [forbidden(path, message)]
    if values:
        if default is None:
            return [required(f"{path}.default", "required when validValues is defined")]
        return _values(values, default, capacity, f"{path}.validValues", ranges)
    if span is not None:
        if default is None:
            return [required(f"{path}.default", "required when validRange is defined")]
        return _range(span, default, capacity, f"{path}.validRange", ranges)
    return []


def _values(values: list[str], default: str, capacity: Any, path: str, ranges: RequestPolicyRules) -> list[FieldError]:
    found: list[FieldError] = []
    for i in range(len(values) - 1):
        if quantity_of(values[i]) > quantity_of(values[i + 1]):
            found.append(invalid(f"{path}[{i + 1}]", values[i + 1], "values must be sorted in ascending order"))

    def option(value: str, at: str) -> list[FieldError]:
        too_big = quantity_of(value) > quantity_of(capacity)
        return [invalid(at, value, f"option is larger than capacity value: {capacity}")] if too_big else []

    key = _decimal if ranges.fractional else _whole
    found += validate_set(values, MAX_OPTIONS, path, option, lambda value: key(quantity_of(value)))
    if len(values) > MAX_OPTIONS or all(quantity_of(value) != quantity_of(default) for value in values):
        found.append(invalid(path, default, "default value is not valid according to the requestPolicy"))
    return found


def _whole(quantity: Quantity) -> str:
    return str(quantity.value)


def _decimal(quantity: Quantity) -> str:
    """The number with the decimal places that it was written with, as Go's inf.Dec."""
    if quantity.scale >= 0:
        return f"{quantity.unscaled}{'0' * quantity.scale}"
    digits = f"{abs(quantity.unscaled):0{1 - quantity.scale}}"
    return f"{'-' * (quantity.unscaled < 0)}{digits[: quantity.scale]}.{digits[quantity.scale :]}"


def _range(span: JsonObject, default: str, capacity: Any, path: str, ranges: RequestPolicyRules) -> list[FieldError]:
    low, high, step = span.get("min"), span.get("max"), span.get("step")
    if low is None:
        return [required(f"{path}.min", "required when validRange is defined")]
    found = _ends(low, high, default, capacity, path, ranges)
    numbers = {"default": default, "min": low, "max": high, "step": step}
    given = {name: number for name, number in numbers.items() if number is not None}
    milli = ranges.fractional and any(_is_fraction(quantity_of(number)) for number in given.values())
    if milli and (unsafe := [name for name, number in given.items() if not _has_milli(quantity_of(number))]):
        text = "value cannot be represented as a milli value"
        return found + [invalid(f"{path}.{name}", given[name], text) for name in unsafe]
    if step is None:
        return found
    if ranges.ratcheted and quantity_of(step).unscaled <= 0:
        return [*found, invalid(f"{path}.step", step, POSITIVE)]
    one_step = quantity_of(low) + quantity_of(step)
    if one_step > quantity_of(capacity):
        message = f"one step {one_step} is larger than capacity value: {capacity}"
        found.append(invalid(f"{path}.step", step, message))
    bounds = _bounds(given, path) if ranges.ratcheted and not milli else []
    return found + (bounds or _steps(given, milli, f"{path}.step"))


def _ends(
    low: str, high: str | None, default: str, capacity: Any, path: str, ranges: RequestPolicyRules
) -> list[FieldError]:
    """The errors of the least and the greatest number of a range."""
    found: list[FieldError] = []
    least, wanted, most = quantity_of(low), quantity_of(default), quantity_of(capacity)
    if least > most:
        found.append(invalid(f"{path}.min", low, f"min is larger than capacity value: {capacity}"))
    if wanted < least:
        place = "default" if ranges.ratcheted else "min"
        found.append(invalid(f"{path}.{place}", default, f"default is less than min: {low}"))
    if high is None:
        return found
    if least > quantity_of(high):
        found.append(invalid(f"{path}.max", low, f"min is larger than max: {high}"))
    if quantity_of(high) > most:
        found.append(invalid(f"{path}.max", high, f"max is larger than capacity value: {capacity}"))
    if wanted > quantity_of(high):
        place = "default" if ranges.ratcheted else "max"
        found.append(invalid(f"{path}.{place}", default, f"default is more than max: {high}"))
    return found


def _bounds(given: dict[str, str], path: str) -> list[FieldError]:
    """The errors of numbers that are negative, or too large for 64 bits."""
    found = list[FieldError]()
    for name, number in given.items():
        if quantity_of(number).unscaled < 0:
            found.append(invalid(f"{path}.{name}", number, NOT_NEGATIVE))
        elif quantity_of(number) > Quantity(MAX_INT64):
            found.append(invalid(f"{path}.{name}", number, f"must not be larger than {MAX_INT64}"))
    return found


def _steps(given: dict[str, str], milli: bool, path: str) -> list[FieldError]:
    """The errors of numbers that are not multiples of the step from the least one."""
    scale, found = -3 if milli else 0, list[FieldError]()
    low, step = given["min"], given["step"]
    least, size = quantity_of(low).scaled(scale), quantity_of(step).scaled(scale)
    for name in ("default", "max"):
        if name in given and size and (quantity_of(given[name]).scaled(scale) - least) % size:
            message = f"value is not a multiple of a given step ({step}) from ({low})"
            found.append(invalid(path, given[name], message))
    return found


def _is_fraction(quantity: Quantity) -> bool:
    return quantity.scale < 0 and quantity.unscaled % 10**-quantity.scale != 0


def _has_milli(quantity: Quantity) -> bool:
    return quantity == Quantity(quantity.milli_value, -3)
