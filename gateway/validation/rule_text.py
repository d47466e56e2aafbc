"""The length of a schema's validation rules, to which the time of compiling them is proportional."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.structural_schema import every

LONG_RULES = 2_000  # characters, which take 10 ms


def length_of_rules(schema: JsonObject) -> int:
    """The characters of all expressions of a schema."""
    rules = (rule for one in every(schema) for rule in one.get("x-kubernetes-validations") or ())
    return sum(len(rule.get("rule") or "") + len(rule.get("messageExpression") or "") for rule in rules)
