"""The text of label selectors in cells."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import NONE
from gateway.validation.names import is_label_value, is_qualified_name


def selector_text(selector: JsonObject | None) -> str | None:
    """The requirements, sorted by key: "a=b,c in (d,e),!f"; "" without requirements, None if one is invalid."""
    requirements = list[tuple[str, str]]()
    for key, value in ((selector or {}).get("matchLabels") or {}).items():
        if is_qualified_name(key) or is_label_value(value):
            return None
        requirements.append((key, f"{key}={value}"))
    for expression in (selector or {}).get("matchExpressions") or ():
        text = _expression_text(expression)
        if text is None:
            return None
        requirements.append((expression["key"], text))
    requirements.sort(key=lambda requirement: requirement[0])
    return ",".join([text for _, text in requirements])


def _expression_text(expression: JsonObject) -> str | None:
    key: str = expression.get("key", "")
    values: list[str] = expression.get("values") or []
    if is_qualified_name(key) or any(map(is_label_value, values)):
        return None
    match expression.get("operator"):
        case "In" if values:
            return f"{key} in ({','.join(sorted(values))})"
        case "NotIn" if values:
            return f"{key} notin ({','.join(sorted(values))})"
        case "Exists" if not values:
            return key
        case "DoesNotExist" if not values:
            return f"!{key}"
    return None


def selector_cell(selector: JsonObject | None) -> str:
    """The cell of a selector for most kinds: "<none>" if it is empty, "<error>" if it is invalid."""
    text = selector_text(selector)
    return "<error>" if text is None else text or NONE


def selector_struct(selector: JsonObject) -> str:
    """A selector as Go prints the struct, for a paramRef with a selector instead of a name."""
    labels: dict[str, str] = selector.get("matchLabels") or {}
    shown = "".join([f"{key}: {labels[key]}," for key in sorted(labels)])
    expressions = "".join([_expression_struct(one) for one in selector.get("matchExpressions") or ()])
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{shown}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _expression_struct(one: JsonObject) -> str:
    values = " ".join(one.get("values") or ())
    return (
        f"LabelSelectorRequirement{{Key:{one.get('key', '')},Operator:{one.get('operator', '')},Values:[{values}],}},"
    )
