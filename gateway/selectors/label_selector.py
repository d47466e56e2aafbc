"""Label selectors as objects have them: matchLabels and matchExpressions (meta/v1 LabelSelector)."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject

Labels = dict[str, str]
Matches = Callable[[Labels], bool]


def compile_selector(selector: JsonObject | None) -> Matches | None:
    """The predicate on labels of a LabelSelector, which must be valid; None if it selects everything."""
    wanted: Labels = (selector or {}).get("matchLabels") or {}
    tests = [_requirement(each) for each in (selector or {}).get("matchExpressions") or ()]
    if not wanted and not tests:
        return None

    def matches(labels: Labels) -> bool:
        return all(labels.get(key) == value for key, value in wanted.items()) and all(test(labels) for test in tests)

    return matches


def _requirement(expression: JsonObject) -> Matches:
    key, values = expression["key"], frozenset(expression.get("values") or ())
    match expression["operator"]:
        case "In":
            return lambda labels: labels.get(key) in values
        case "NotIn":
            return lambda labels: labels.get(key) not in values
        case "Exists":
            return lambda labels: key in labels
        case _:
            return lambda labels: key not in labels
