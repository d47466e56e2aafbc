"""Conditions in the common form (API Conventions "Typical status properties", metav1.Condition)."""

from __future__ import annotations

import re
from functools import partial

from gateway.jsontypes import JsonObject
from gateway.validation.checks import known
from gateway.validation.field import FieldError, duplicate, invalid, required, reworded, too_long
from gateway.validation.labels import validate_label_name
from gateway.validation.names import byte_length, regex_message

STATUSES = ("False", "True", "Unknown")
MAX_REASON, MAX_MESSAGE = 1024, 32 * 1024
_REASON_FORMAT = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason = re.compile(_REASON_FORMAT).fullmatch
_REASON = regex_message(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON_FORMAT,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)


def validate_conditions(conditions: list[JsonObject] | None, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(conditions or ()):
        kind = condition.get("type", "")
        if kind in seen:
            error = duplicate(f"{path}[{i}].type", kind)
            found.append(reworded("ConditionsRequired", error, partial(error.at, f"{path}[{i}]")))
        seen.add(kind)
        found += validate_condition(condition, f"{path}[{i}]")
    return found


def validate_condition(condition: JsonObject, path: str) -> list[FieldError]:
    kind, status = condition.get("type", ""), condition.get("status", "")
    found = validate_label_name(kind, f"{path}.type")
    if not kind:
        found = [
            reworded("ConditionsRequired", each, partial(required, f"{path}.type", "is required")) for each in found
        ]
    errors = known(f"{path}.status", status, STATUSES)
    found += (
        errors
        if status
        else [reworded("ConditionsRequired", each, partial(required, f"{path}.status")) for each in errors]
    )
    if (observed := condition.get("observedGeneration", 0)) < 0:
        found.append(invalid(f"{path}.observedGeneration", observed, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        found.append(required(f"{path}.lastTransitionTime"))
    return found + validate_reason_and_message(condition, path)


def validate_reason(reason: str, path: str) -> list[FieldError]:
    """The error of the form of a condition's reason."""
    return [] if _is_reason(reason) else [invalid(path, reason, _REASON)]


def validate_reason_and_message(
    condition: JsonObject, path: str, longest_reason: int = MAX_REASON, longest_message: int = MAX_MESSAGE
) -> list[FieldError]:
    """The errors of a condition's reason and message; their limits are in bytes."""
    found, reason = list[FieldError](), condition.get("reason", "")
    if not reason:
        found.append(required(f"{path}.reason"))
    else:
        found += validate_reason(reason, f"{path}.reason")
        if byte_length(reason) > longest_reason:
            found.append(too_long(f"{path}.reason", longest_reason))
    if byte_length(condition.get("message", "")) > longest_message:
        found.append(too_long(f"{path}.message", longest_message))
    return found
