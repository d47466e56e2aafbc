"""Checks the validation rules in a CustomResourceDefinition: whether they compile, and their estimated cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway.cel.compiled_rules import CompiledRule, compile_rules
from gateway.cel.edition import FIRST, Edition
from gateway.cel.names import escape
from gateway.cel.schema_types import SchemaDeclaration, declare
from gateway.cel.sizes import LARGEST
from gateway.jsontypes import JsonObject, go_dumps
from gateway.validation.field import FieldError, Verbatim, forbidden, internal, invalid

MOST_PER_EXPRESSION = 10_000_000
MOST_PER_DEFINITION = 100_000_000
_MOST_NAMED = 4
_ADVICE = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared"
)


@dataclass(slots=True)
class _Total:
    """The estimated cost of all rules of a definition, and the most costly rules."""

    cost: int = 0
    costly: list[tuple[int, str]] = field(default_factory=list)

    def add(self, path: str, cost: int) -> None:
        self.cost = min(self.cost + cost, LARGEST)
        if cost >= MOST_PER_DEFINITION // 100:
            self.costly = sorted([*self.costly, (cost, path)], key=lambda each: -each[0])[:_MOST_NAMED]


@dataclass(slots=True, frozen=True)
class _Place:
    """A node of the schema.

    `cardinality`: the most values that the node can have in one custom object (None: not bounded).
    `inside`: an enclosing node has rules.
    """

    path: str
    cardinality: int | None
    declared: SchemaDeclaration | None = None
    inside: bool = False
    root: bool = False
    # the path of the outermost enclosing list that is not of type map; "" if there is none: old and new items of such
    # a list cannot be matched
    uncorrelated: str = ""


def validate_definition_rules(
    schema: JsonObject,
    path: str,
    found: list[FieldError],
    *,
    per_expression: bool = True,
    edition: Edition = FIRST,
) -> list[FieldError]:
    """The errors of the rules of a structural schema.

    Skips the rules of a node if `found` has an error at that node or below it. `per_expression`: whether the cost limit
    of a single rule applies; False for a schema that is already stored.
    """
    total, errors = _Total(), list[FieldError]()
    broken = [each.field for each in found]
    _visit(schema, _Place(path, 1, root=True), _Context(total, errors, broken, per_expression, edition))
    if total.cost > MOST_PER_DEFINITION:
        reason = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        errors += [forbidden(where, reason) for _, where in total.costly]
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        errors.append(forbidden(path, _exceeds(what, total.cost, MOST_PER_DEFINITION)))
    return errors


@dataclass(slots=True, frozen=True)
class _Context:
    total: _Total
    errors: list[FieldError]
    broken: list[str]
    per_expression: bool
    edition: Edition


def _visit(schema: JsonObject, place: _Place, context: _Context) -> None:
    rules = schema.get("x-kubernetes-validations") or []
    inside = place.inside or bool(rules)
    declared = place.declared
    if inside and declared is None:
        declared = declare(
            schema, root=place.root or bool(schema.get("x-kubernetes-embedded-resource")), edition=context.edition
        )
    times = _times(place.cardinality, _most_elements(schema))
    _visit_below(schema, place, declared, inside, times, context)
    if rules and not any(_is_within(each, place.path) for each in context.broken):
        _check(rules, schema, declared, place, context)


def _visit_below(
    schema: JsonObject,
    place: _Place,
    declared: SchemaDeclaration | None,
    inside: bool,
    times: int | None,
    context: _Context,
) -> None:
    element = declared.element if declared is not None and inside else None
    uncorrelated = place.uncorrelated
    if isinstance(additional := schema.get("additionalProperties"), dict):
        where = f"{place.path}.additionalProperties"
        _visit(additional, _Place(where, times, element, inside, uncorrelated=uncorrelated), context)
    for name, below in (schema.get("properties") or {}).items():
        known = (declared.fields or {}).get(escape(name) or "") if declared is not None and inside else None
        where = f"{place.path}.properties[{name}]"
        of = known[1] if known is not None else None
        _visit(below, _Place(where, times, of, inside, uncorrelated=uncorrelated), context)
    if isinstance(items := schema.get("items"), dict):
        if schema.get("x-kubernetes-list-type") != "map":
            uncorrelated = uncorrelated or place.path
        _visit(items, _Place(f"{place.path}.items", times, element, inside, uncorrelated=uncorrelated), context)


def _is_within(field_: str, path: str) -> bool:
    return field_.startswith(path) and field_[len(path) : len(path) + 1] in ("", ".", "[")


def _most_elements(schema: JsonObject) -> int | None:
    """The greatest number of elements of a list or map (1 for other values); None if the schema has no bound."""
    match schema.get("type"):
        case "object" if schema.get("additionalProperties") is not None:
            most = schema.get("maxProperties")
        case "array":
            most = schema.get("maxItems")
        case _:
            return 1
    return None if most is None else max(most, 0)


def _times(cardinality: int | None, elements: int | None) -> int | None:
    return None if cardinality is None or elements is None else min(cardinality * elements, LARGEST)


def _check(
    rules: list[JsonObject], schema: JsonObject, declared: SchemaDeclaration | None, place: _Place, context: _Context
) -> None:
    path = f"{place.path}.x-kubernetes-validations"
    if declared is None:
        reason = "failed to construct type information for x-kubernetes-validations rules"
        unable = "unable to convert structural schema to CEL declarations"
        context.errors.append(internal(path, f"internal error: {reason}: {unable}"))
        return
    for at, compiled in enumerate(compile_rules(rules, schema, declared, context.edition)):
        _check_rule(compiled, f"{path}[{at}]", place, context)


def _check_rule(compiled: CompiledRule, path: str, place: _Place, context: _Context) -> None:
    errors, rule = context.errors, compiled.rule
    cost = _times(compiled.most, place.cardinality if place.cardinality is not None else compiled.cardinality) or 0
    if context.per_expression and cost > MOST_PER_EXPRESSION:
        errors.append(forbidden(f"{path}.rule", _exceeds("estimated rule cost", cost, MOST_PER_EXPRESSION)))
    context.total.add(f"{path}.rule", cost)
    if compiled.error:
        errors.append(invalid(f"{path}.rule", _shown(rule), compiled.error))
    if compiled.message_error:
        errors.append(invalid(f"{path}.messageExpression", _shown(rule), compiled.message_error))
    elif compiled.message is not None:
        most = compiled.message_most
        if context.per_expression and most > MOST_PER_EXPRESSION:
            exceeds = _exceeds("estimated messageExpression cost", most, MOST_PER_EXPRESSION)
            errors.append(forbidden(f"{path}.messageExpression", exceeds))
        context.total.add(f"{path}.messageExpression", most)
    if compiled.uses_old_self and place.uncorrelated:
        unusable = "oldSelf cannot be used on the uncorrelatable portion of the schema within"
        errors.append(invalid(f"{path}.rule", rule["rule"], f"{unusable} {place.uncorrelated}"))
    elif not compiled.uses_old_self and rule.get("optionalOldSelf") is not None:
        reason = "may not be set if oldSelf is not used in rule"
        errors.append(invalid(f"{path}.optionalOldSelf", rule["optionalOldSelf"], reason))


def _shown(rule: JsonObject) -> Verbatim:
    """A rule in error messages: the JSON of kube-apiserver's Go struct."""
    fields: dict[str, Any] = {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    return Verbatim(go_dumps(fields))


def _exceeds(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        times = "more than 100x"
    else:
        times = f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {times} ({_ADVICE})"
