"""Validation rules of a schema (x-kubernetes-validations): compiled once, then evaluated for each object.

Source: page "Validation rules"; which values are `self` and `oldSelf`, and what is said when, is as
kube-apiserver has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gateway.cel.ast import Ident, Node
from gateway.cel.correlation import Correlation, Ratchet, by_key
from gateway.cel.costs import PER_EXPRESSION, PER_OBJECT
from gateway.cel.environment import Environment
from gateway.cel.estimates import estimate
from gateway.cel.names import escape
from gateway.cel.program import InstantiationError, Outcome, Program, compile_expression
from gateway.cel.schema_types import LARGEST_REQUEST, Declared, SchemaTypes, declare
from gateway.cel.source import CompilationError
from gateway.cel.types import BOOL, STRING, optional_of
from gateway.cel.validators import children
from gateway.cel.values import NONE, Optional
from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, duplicate, forbidden, go_quote, invalid, required
from gateway.validation.schema_paths import FieldPathError, follow

LONGEST_MESSAGE = 5 * 1024
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
_LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"


@dataclass(slots=True)
class CompiledRule:
    """One rule: its program or why it has none, and the same of its messageExpression."""

    rule: JsonObject
    program: Program | None = None
    error: str = ""
    uses_old_self: bool = False
    # the most that evaluating it once may cost, and how often it may be evaluated if nothing bounds that
    most: int = 0
    cardinality: int = 0
    message: Program | None = None
    message_error: str = ""
    message_most: int = 0
    target: str = ""

    @property
    def optional_old_self(self) -> bool:
        """Whether it is evaluated for new values as well."""
        return bool(self.rule.get("optionalOldSelf"))


def compile_rules(rules: list[JsonObject], schema: JsonObject, declared: Declared) -> list[CompiledRule]:
    """The rules of one schema node, whose values are what `declared` says."""
    types = SchemaTypes(declared)
    cardinality = LARGEST_REQUEST // (declared.smallest + 1)
    compiled = list[CompiledRule]()
    for rule in rules:
        one = CompiledRule(rule, cardinality=cardinality)
        compiled.append(one)
        if (rule.get("rule") or "").strip():
            _compile(one, schema, declared, types)
    return compiled


def _compile(one: CompiledRule, schema: JsonObject, declared: Declared, types: SchemaTypes) -> None:
    old = optional_of(types.type) if one.optional_old_self else types.type
    environment = Environment({"self": types.type, "oldSelf": old}, types)
    try:
        program = compile_expression(one.rule["rule"], environment)
    except CompilationError as error:
        one.error = f"compilation failed: {error}"
        return
    except InstantiationError as error:
        one.error = f"program instantiation failed: {error}"
        return
    if program.type.kind is not BOOL.kind:
        one.error = "cel expression must evaluate to a bool"
        return
    one.uses_old_self = _mentions(program.tree, "oldSelf")
    one.program, one.most = program, estimate(program.tree, declared).most
    if one.rule.get("messageExpression"):
        _compile_message(one, environment, declared)
    if target := one.rule.get("fieldPath"):
        one.target = _target(target, schema)


def _compile_message(one: CompiledRule, environment: Environment, declared: Declared) -> None:
    try:
        program = compile_expression(one.rule["messageExpression"], environment)
    except CompilationError as error:
        one.message_error = f"messageExpression compilation failed: {error}"
        return
    except InstantiationError as error:
        one.message_error = f"messageExpression instantiation failed: {error}"
        return
    if program.type.kind is not STRING.kind:
        one.message_error = "messageExpression must evaluate to a string"
        return
    one.message, one.message_most = program, estimate(program.tree, declared).most


def _mentions(node: Node, name: str) -> bool:
    if isinstance(node, Ident) and node.name == name:
        return True
    return any(_mentions(child, name) for child in children(node))


def _target(path: str, schema: JsonObject) -> str:
    """The path of the field that a rule is about, as errors write it; empty if there is no such field."""
    try:
        steps, _ = follow(path, schema)
    except FieldPathError:
        return ""
    written = ""
    for step in steps:
        if properties := schema.get("properties"):
            written, schema = _child(written, step), properties[step]
        else:
            written, schema = f"{written}[{step}]", schema["additionalProperties"]
    return written


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


class TooCostly(Exception):
    """Evaluating the rules takes longer than the caller has patience for."""


@dataclass(slots=True)
class _Check:
    """One evaluation of all rules of an object: what is left to spend, and what was found."""

    budget: int
    # what may be spent at all; None: whatever the budget allows
    patience: int | None = None
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def evaluate(self, program: Program, variables: dict[str, Any]) -> Outcome:
        """Computes one expression; raises TooCostly."""
        if self.patience is None:
            return program.evaluate(variables, PER_EXPRESSION)
        outcome = program.evaluate(variables, min(PER_EXPRESSION, self.patience))
        self.patience -= outcome.cost
        if self.patience < 0 and outcome.cost <= PER_EXPRESSION:
            raise TooCostly
        return outcome

    def report(self, path: str, error: FieldError) -> None:
        """Notes an error; the root has no path, and that is written so."""
        self.errors.append(error if path else FieldError(error.reason, error.field or "<nil>", error.body))


@dataclass(slots=True)
class Rules:
    """The rules of a schema node and of all below it."""

    schema: JsonObject
    declared: Declared | None
    rules: list[CompiledRule]
    error: str
    items: Rules | None = None
    properties: dict[str, Rules] = field(default_factory=dict)
    additional: Rules | None = None
    all_of: list[Rules] = field(default_factory=list)

    def validate(
        self,
        value: Any,
        old: Any = None,
        *,
        path: str = "",
        budget: int = PER_OBJECT,
        ratchet: bool = False,
        patience: int | None = None,
    ) -> tuple[list[FieldError], list[str]]:
        """The errors of a value, and warnings about those that an unchanged part had before (`ratchet`).

        With `patience`, raises TooCostly as soon as more than that is spent: an event loop tries with little, and asks
        again in a thread.
        """
        check = _Check(budget, patience)
        correlation = Correlation(value, old, self.schema) if ratchet else None
        self._validate(check, path, value, old, Ratchet(correlation))
        return check.errors, check.warnings

    def _validate(self, check: _Check, path: str, value: Any, old: Any, ratchet: Ratchet) -> None:
        if value is None:
            return
        if self.rules or self.error:
            self._evaluate(check, path, value, old, ratchet)
        for each in self.all_of:
            if check.budget < 0:
                return
            each._validate(check, path, value, old, Ratchet(None, ratchet.parent))
        if isinstance(value, list):
            self._list(check, path, value, old if isinstance(old, list) else [], ratchet)
        elif isinstance(value, dict):
            self._map(check, path, value, old if isinstance(old, dict) else {}, ratchet)

    def _list(self, check: _Check, path: str, value: list[Any], old: list[Any], ratchet: Ratchet) -> None:
        if self.items is None:
            return
        find = by_key(self.schema, old)
        for at, item in enumerate(value):
            if check.budget < 0:
                return
            self.items._validate(check, f"{path}[{at}]", item, find(item), ratchet.index(at))

    def _map(self, check: _Check, path: str, value: dict[str, Any], old: dict[str, Any], ratchet: Ratchet) -> None:
        if self.additional is not None:
            for name, item in value.items():
                if check.budget < 0:
                    return
                self.additional._validate(check, f"{path}[{name}]", item, old.get(name), ratchet.key(name))
        for name, below in self.properties.items() if len(self.properties) < len(value) else self._present(value):
            if check.budget < 0:
                return
            if name in value:
                below._validate(check, _child(path, name), value[name], old.get(name), ratchet.key(name))

    def _present(self, value: dict[str, Any]) -> Iterator[tuple[str, Rules]]:
        return ((name, self.properties[name]) for name in value if name in self.properties)

    def _evaluate(self, check: _Check, path: str, value: Any, old: Any, ratchet: Ratchet) -> None:
        kind = self.schema.get("type", "")
        if self.error:
            check.report(path, invalid(path, kind, f"rule compiler initialization error: {self.error}"))
            return
        if check.budget <= 0:
            check.report(path, invalid(path, kind, _OUT_OF_BUDGET))
            check.budget = -1
            return
        variables = self._variables(value, old)
        for rule in self.rules:
            if rule.error:
                check.report(path, invalid(path, kind, f"rule compile error: {rule.error}"))
            elif rule.program is not None and (old is not None or not rule.uses_old_self or rule.optional_old_self):
                self._rule(check, path, rule, value, variables, ratchet)
            if check.budget < 0:
                return

    def _variables(self, value: Any, old: Any) -> dict[str, Any]:
        convert = self.declared.convert if self.declared is not None else None
        if convert is None:
            return {"self": value, "oldSelf": old}
        return {"self": convert(value, {}), "oldSelf": None if old is None else convert(old, {})}

    def _rule(
        self, check: _Check, path: str, rule: CompiledRule, value: Any, variables: dict[str, Any], ratchet: Ratchet
    ) -> None:
        assert rule.program is not None  # else it is not evaluated
        if rule.optional_old_self:
            old = variables["oldSelf"]
            variables = {"self": variables["self"], "oldSelf": NONE if old is None else Optional(old)}
        outcome = check.evaluate(rule.program, variables)
        if outcome.value is True and outcome.cost <= check.budget:
            check.budget -= outcome.cost
            return
        kind, text = self.schema.get("type", ""), _name(rule.rule)
        if outcome.cost > check.budget:
            check.report(path, invalid(path, kind, _OUT_OF_BUDGET))
            check.budget = -1
            return
        check.budget -= outcome.cost
        if outcome.error:
            check.report(path, invalid(path, kind, _failure(outcome, text)))
            if outcome.error == _LIMIT_EXCEEDED:
                check.budget = -1
            return
        self._broken(check, path, rule, value, variables, ratchet)

    def _broken(
        self, check: _Check, path: str, rule: CompiledRule, value: Any, variables: dict[str, Any], ratchet: Ratchet
    ) -> None:
        """Says that a rule does not hold."""
        where = _child(path, rule.target) if rule.target else path
        detail, failed = _message(rule, variables, check)
        if failed:
            error = invalid(where, self.schema.get("type", ""), detail)
            check.budget = -1
        else:
            plain = self.schema.get("type") not in ("object", "array")
            error = _by_reason(where, value, detail, rule.rule.get("reason"), plain)
        if not rule.uses_old_self and ratchet.unchanged():
            check.warnings.append(str(error if where else FieldError(error.reason, "<nil>", error.body)))
        else:
            check.report(where, error)


def _name(rule: JsonObject) -> str:
    return str(rule.get("message") or rule["rule"]).strip()


def _failure(outcome: Outcome, text: str) -> str:
    if outcome.error.startswith("no such overload"):
        unsupported = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{outcome.error}': {unsupported}: {text}"
    if outcome.error == _LIMIT_EXCEEDED:
        stopped = "no further validation rules will be run due to call cost exceeds limit for rule"
        return f"'{outcome.error}': {stopped}: {text}"
    return f"{outcome.error} evaluating rule: {text}"


def _message(rule: CompiledRule, variables: dict[str, Any], check: _Check) -> tuple[str, bool]:
    """What is said of a value for which the rule does not hold, and whether saying it took too much."""
    plain = str(rule.rule.get("message") or "").strip() or f"failed rule: {_name(rule.rule)}"
    if rule.message is None:
        return plain, False
    outcome = check.evaluate(rule.message, variables)
    if outcome.cost > check.budget:
        reason = "messageExpression evaluation failed due to running out of cost budget"
        return f"{reason}, no further validation rules will be run", True
    if outcome.error == _LIMIT_EXCEEDED:
        reason = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
        return f"{reason}: {go_quote(rule.rule['messageExpression'])}", True
    check.budget -= outcome.cost
    text = outcome.value.strip() if isinstance(outcome.value, str) else ""
    if not text or "\n" in text or len(text.encode()) > LONGEST_MESSAGE:
        return plain, False
    return text, False


def _by_reason(path: str, value: Any, detail: str, reason: str | None, plain: bool) -> FieldError:
    match reason:
        case "FieldValueForbidden":
            return forbidden(path, detail)
        case "FieldValueRequired":
            return required(path, detail)
        case "FieldValueDuplicate":
            return duplicate(path, value) if plain else FieldError("FieldValueDuplicate", path, "Duplicate value")
    if plain:
        return invalid(path, value, detail)
    return FieldError("FieldValueInvalid", path, f"Invalid value: {detail}")


def compile_schema(schema: JsonObject) -> Rules | None:
    """The rules of a custom resource's schema; None if it has none."""
    if not _has_rules(schema):
        return None
    return _node(schema, schema, declare(schema, root=True), root=True)


def _has_rules(schema: JsonObject) -> bool:
    if schema.get("x-kubernetes-validations"):
        return True
    below = [schema.get("items"), schema.get("additionalProperties"), *(schema.get("properties") or {}).values()]
    return any(_has_rules(each) for each in below if isinstance(each, dict))


def _node(saying: JsonObject, schema: JsonObject, declared: Declared | None, *, root: bool = False) -> Rules | None:
    """The rules that `saying` has for the values of `schema`: the schema itself, or what it says under allOf."""
    rules, error = list[CompiledRule](), ""
    if listed := saying.get("x-kubernetes-validations"):
        if declared is None:
            error = "failed to convert to declType for CEL validation rules"
        else:
            rules = compile_rules(listed, schema, declared)
    node = Rules(schema, declared, rules, error)
    element = declared.element if declared is not None else None
    node.items = _below(saying.get("items"), schema.get("items"), element)
    node.additional = _below(saying.get("additionalProperties"), schema.get("additionalProperties"), element)
    for name, said in (saying.get("properties") or {}).items():
        found = _property(name, said, schema, declared)
        if found is not None:
            node.properties[name] = found
    for said in saying.get("allOf") or ():
        found = _node(said, schema, declared, root=root)
        if found is not None:
            node.all_of.append(found)
    known = node.rules or node.error or node.items or node.additional or node.properties or node.all_of
    return node if known else None


def _below(said: Any, schema: Any, declared: Declared | None) -> Rules | None:
    if not isinstance(said, dict) or not isinstance(schema, dict):
        return None
    return _node(said, schema, declared)


def _property(name: str, said: JsonObject, schema: JsonObject, declared: Declared | None) -> Rules | None:
    below = (schema.get("properties") or {}).get(name)
    if below is None:
        return None
    if (written := escape(name)) is None:
        own = declare(below, root=bool(below.get("x-kubernetes-embedded-resource")))
        return None if own is None else _node(said, below, own)
    fields = declared.fields if declared is not None else None
    known = (fields or {}).get(written)
    return None if known is None else _node(said, below, known[1])
