"""Labels, annotations and label selectors (page "Labels and Selectors")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, forbidden, invalid, required, too_long
from gateway.validation.names import byte_length, is_label_value, is_qualified_name

ANNOTATIONS_LIMIT = 256 * 1024


def validate_labels(labels: dict[str, str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for key, value in labels.items():
        if messages := is_qualified_name(key):
            found += [invalid(path, key, message) for message in messages]
        if messages := is_label_value(value):
            found += [invalid(path, value, message) for message in messages]
    return found


def validate_label_name(name: str, path: str) -> list[FieldError]:
    return [invalid(path, name, message) for message in is_qualified_name(name)]


def validate_annotations(annotations: dict[str, str], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    size = 0
    for key, value in annotations.items():
        size += len(key) + len(value)
        if messages := is_qualified_name(key.lower()):
            found += [invalid(path, key, message) for message in messages]
    # a character has at most four bytes, so bytes are counted only where the limit may be exceeded
    if size * 4 > ANNOTATIONS_LIMIT and annotations_size(annotations) > ANNOTATIONS_LIMIT:
        found.append(too_long(path, ANNOTATIONS_LIMIT))
    return found


def annotations_size(annotations: dict[str, str]) -> int:
    return sum(byte_length(key) + byte_length(value) for key, value in annotations.items())


def validate_label_selector(
    selector: JsonObject | None,
    path: str,
    *,
    allow_invalid_values: bool = False,
    allow_unknown_operators: bool = False,
) -> list[FieldError]:
    """Checks a LabelSelector. `allow_invalid_values` is for updates of objects that have such values already."""
    if not selector:
        return []
    found: list[FieldError] = []
    if labels := selector.get("matchLabels"):
        found += validate_labels(labels, f"{path}.matchLabels")
    for i, requirement in enumerate(selector.get("matchExpressions", ())):
        at = f"{path}.matchExpressions[{i}]"
        found += validate_label_requirement(
            requirement, at, any_value=allow_invalid_values, any_operator=allow_unknown_operators
        )
    return found


def validate_label_requirement(
    requirement: JsonObject, path: str, *, any_value: bool = False, any_operator: bool = False
) -> list[FieldError]:
    """Checks one expression of a selector: a key, an operator and, with In and NotIn, values."""
    found: list[FieldError] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            found.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(forbidden(f"{path}.values", text))
    elif not any_operator:
        found.append(invalid(f"{path}.operator", operator, "not a valid selector operator"))
    found += validate_label_name(requirement.get("key", ""), f"{path}.key")
    if not any_value:
        for i, value in enumerate(values):
            found += [invalid(f"{path}.values[{i}]", value, message) for message in is_label_value(value)]
    return found


def has_invalid_value(selector: JsonObject | None) -> bool:
    """Whether an expression of the selector has a value that is not a valid label value."""
    expressions = (selector or {}).get("matchExpressions", ())
    return any(is_label_value(value) for expression in expressions for value in expression.get("values") or ())


def selector_is_empty(selector: JsonObject | None) -> bool:
    return not selector or not (selector.get("matchLabels") or selector.get("matchExpressions"))


def selector_matches(selector: JsonObject, labels: dict[str, str]) -> bool:
    """Whether a valid selector selects these labels."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for requirement in selector.get("matchExpressions") or ():
        key, operator, values = requirement.get("key", ""), requirement.get("operator"), requirement.get("values") or ()
        here = key in labels
        wanted = {"In": here and labels.get(key) in values, "NotIn": not here or labels[key] not in values}
        wanted |= {"Exists": here, "DoesNotExist": not here}
        if not wanted.get(operator, False):
            return False
    return True
