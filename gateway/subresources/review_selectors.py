"""Finds selectors of an access review that cannot be parsed, wholly or in part."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject
from gateway.selectors.fields import parse_terms
from gateway.selectors.labels import SelectorError
from gateway.selectors.labels import parse as parse_labels
from gateway.validation.labels import validate_label_requirement


def selector_problems(asked: JsonObject) -> list[str]:
    """The messages for the status of a review about the selectors in its resource attributes that are ignored."""
    return [
        *_problem("fieldSelector", asked.get("fieldSelector"), parse_terms, _is_field_requirement),
        *_problem("labelSelector", asked.get("labelSelector"), parse_labels, _is_label_requirement),
    ]


def _problem(
    name: str, selector: JsonObject | None, parse: Callable[[str], object], understood: Callable[[JsonObject], bool]
) -> list[str]:
    if selector is None:
        return []
    requirements = selector.get("requirements") or []
    known = [understood(each) for each in requirements]
    sound = all(known) if requirements else _parses(parse, selector.get("rawSelector", ""))
    if sound:
        return []
    how = "partially ignored" if any(known) else "ignored"
    return [f"spec.resourceAttributes.{name} {how} due to parse error"]


def _parses(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except SelectorError:
        return False
    return True


def _is_field_requirement(requirement: JsonObject) -> bool:
    return requirement.get("operator") in ("In", "NotIn") and len(requirement.get("values") or ()) == 1


def _is_label_requirement(requirement: JsonObject) -> bool:
    return not validate_label_requirement(requirement, "")
