"""The selectors of a request, as authorizers see them (KEP-4601): requirements that must all be met.

A selector that cannot be parsed counts as no requirements, and label requirements with other operators are left out.
That is safe: with fewer requirements an authorizer allows less, never more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gateway.http.request_info import RequestInfo
from gateway.jsontypes import JsonObject
from gateway.selectors import fields, labels
from gateway.selectors.labels import SelectorError
from gateway.validation.labels import validate_label_requirement

_SPECIAL = frozenset(",=!\\")  # characters that no field name contains
_OPERATORS = {"in": "In", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist"}


class AccessRequirement(NamedTuple):
    """One requirement, with the operators of authorization.k8s.io."""

    key: str
    operator: str
    values: tuple[str, ...]

    def spec(self) -> JsonObject:
        """The requirement as JSON of a SubjectAccessReview."""
        shown: JsonObject = {"key": self.key, "operator": self.operator}
        return shown | {"values": list(self.values)} if self.values else shown


def field_requirements(info: RequestInfo) -> list[AccessRequirement]:
    """The requirements of the request's field selector."""
    try:
        terms = fields.parse_terms(info.field_selector) if info.field_selector else []
    except SelectorError:
        return []
    return [AccessRequirement(each.field, "In" if each.equal else "NotIn", (each.value,)) for each in terms]


def label_requirements(info: RequestInfo) -> list[AccessRequirement]:
    """The requirements of the request's label selector."""
    try:
        found = labels.parse_requirements(info.label_selector) if info.label_selector else []
    except SelectorError:
        return []
    return [
        AccessRequirement(each.key, _OPERATORS[each.operator], tuple(sorted(each.values)))
        for each in found
        if each.operator in _OPERATORS
    ]


def selects_node(info: RequestInfo, field: str, node: str) -> bool:
    """Whether the field selector requires that `field` is the node's name."""
    wanted = AccessRequirement(field, "In", (node,))
    return any(each == wanted for each in field_requirements(info))


def field_text(requirements: Iterable[JsonObject]) -> str:
    """The field selector for a review's field requirements; it leaves out requirements that it cannot express."""
    terms = []
    for each in requirements:
        values, operator = list(each.get("values") or ()), each.get("operator")
        if len(values) == 1 and operator in ("In", "NotIn") and not _SPECIAL & set(each.get("key", "")):
            value = str(values[0]).replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
            terms.append(f"{each.get('key', '')}{'=' if operator == 'In' else '!='}{value}")
    return ",".join(terms)


def label_text(requirements: Iterable[JsonObject]) -> str:
    """The label selector for a review's label requirements; it leaves out invalid ones."""
    terms = []
    for each in requirements:
        key, values = each.get("key", ""), ",".join(each.get("values") or ())
        if validate_label_requirement(each, ""):
            continue
        match each.get("operator"):
            case "In":
                terms.append(f"{key} in ({values})")
            case "NotIn":
                terms.append(f"{key} notin ({values})")
            case "Exists":
                terms.append(key)
            case "DoesNotExist":
                terms.append(f"!{key}")
    return ",".join(terms)
