"""A label selector as text, as in queries: "app=web,tier in (a,b)"."""

from __future__ import annotations

from gateway.jsontypes import JsonObject


def selector_text(selector: JsonObject | None, *, plain: bool) -> str:
    """The text of a LabelSelector, or with `plain` of a map of labels; requirements are sorted by key."""
    if not selector:
        return ""
    labels = selector if plain else selector.get("matchLabels") or {}
    terms = [(key, f"{key}={value}") for key, value in labels.items()]
    for each in () if plain else selector.get("matchExpressions") or ():
        terms.append((each["key"], _expression(each)))
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0]))


def _expression(expression: JsonObject) -> str:
    key, values = expression["key"], ",".join(sorted(expression.get("values") or ()))
    match expression.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
        case _:
            return str(key)
