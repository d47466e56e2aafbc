"""Validation rules of a schema (x-kubernetes-validations): compiled once, then evaluated for each object.

Source: page "Validation rules". The values of `self` and `oldSelf`, the messages and their order are the same as in
kube-apiserver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gateway.cel.compiled_rules import CompiledRule, compile_rules
from gateway.cel.correlation import Correlation, Ratchet, by_key
from gateway.cel.costs import PER_EXPRESSION, PER_OBJECT
from gateway.cel.edition import FIRST, Edition
from gateway.cel.names import escape
from gateway.cel.program import EvaluationResult, Program
from gateway.cel.raw import raw
from gateway.cel.schema_types import SchemaDeclaration, declare
from gateway.cel.values import NONE, Optional
from gateway.cel.whole_floats import Holds, finder
from gateway.jsontypes import JsonObject
from gateway.time_limits import look
from gateway.validation.field import MOST_ERRORS, FieldError, duplicate, forbidden, go_quote, invalid, path_to, required

LONGEST_MESSAGE = 5 * 1024
_BEGINNING = 20  # the time to start an expression, in units of cost
_OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
_LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"


def _child(path: str, name: str) -> str:
    return path_to(path, f".{name}" if path else name)


class TooCostly(Exception):
    """The rules cost more than the caller's `patience`."""


@dataclass(slots=True)
class _Check:
    """One evaluation of all rules of an object: the remaining budget, and the errors so far."""

    budget: int
    # the cost above which TooCostly is raised; None: no limit but the budget
    patience: int | None = None
    # whether the object has floats like 1.0 where the schema wants integers
    floats: bool = False
    # whether an error shows the wrong value (else its type)
    shows_values: bool = True
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[FieldError] = field(default_factory=list)

    def evaluate(self, program: Program, variables: dict[str, Any]) -> EvaluationResult:
        """Computes one expression; raises TooCostly, and TakesLong as `gateway.time_limits.look`."""
        if self.patience is None:
            return program.evaluate(variables, PER_EXPRESSION)
        look()
        outcome = program.evaluate(variables, min(PER_EXPRESSION, self.patience))
        self.patience -= outcome.cost + _BEGINNING
        if self.patience < 0 and outcome.cost <= PER_EXPRESSION:
            raise TooCostly
        return outcome

    def report(self, path: str, error: FieldError) -> None:
        """Adds an error. The path of the root is written as <nil>."""
        self.errors.append(error if path else error.at(error.field or "<nil>"))
        if len(self.errors) >= MOST_ERRORS:
            self.budget = -1  # further errors would not be reported


@dataclass(slots=True)
class SchemaRules:
    """The rules of a schema node and of all below it."""

    schema: JsonObject
    declared: SchemaDeclaration | None
    rules: list[CompiledRule]
    error: str
    items: SchemaRules | None = None
    properties: dict[str, SchemaRules] = field(default_factory=dict)
    additional: SchemaRules | None = None
    all_of: list[SchemaRules] = field(default_factory=list)
    holds_floats: Holds | None = None  # set at the root only
    shows_values: bool = True  # set at the root only: whether an error shows the wrong value (else its type)

    def validate(
        self,
        value: Any,
        old: Any = None,
        *,
        path: str = "",
        budget: int = PER_OBJECT,
        ratchet: bool = False,
        patience: int | None = None,
    ) -> tuple[list[FieldError], list[FieldError]]:
        """The errors of a value, and the warnings.

        With `ratchet`, an error of a part that did not change since `old` becomes a warning. With `patience`, raises
        TooCostly once the cost exceeds it: the event loop tries with a low one, and repeats the call in a thread.
        """
        floats = self.holds_floats is not None and self.holds_floats(value)
        check = _Check(budget, patience, floats, self.shows_values)
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
                self.additional._validate(check, path_to(path, f"[{name}]"), item, old.get(name), ratchet.key(name))
        for name, below in self.properties.items() if len(self.properties) < len(value) else self._present(value):
            if check.budget < 0:
                return
            if name in value:
                below._validate(check, _child(path, name), value[name], old.get(name), ratchet.key(name))

    def _present(self, value: dict[str, Any]) -> Iterator[tuple[str, SchemaRules]]:
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
                self._rule(check, path, rule, value, _seen_by(rule, variables, old), ratchet)
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
        program, message = rule.programs(check.floats)
        outcome = check.evaluate(program, variables)
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
        told = _message(rule, message, variables, check)
        self._broken(check, path, rule, value, told, ratchet)

    def _broken(
        self, check: _Check, path: str, rule: CompiledRule, value: Any, told: tuple[str, bool], ratchet: Ratchet
    ) -> None:
        """Reports that the value breaks a rule. `told` is the result of `_message`."""
        where = _child(path, rule.target) if rule.target else path
        detail, failed = told
        if failed:
            error = invalid(where, self.schema.get("type", ""), detail)
            check.budget = -1
        else:
            kind = self.schema.get("type", "")
            plain = not check.shows_values or kind not in ("object", "array")
            error = _by_reason(where, value if check.shows_values else kind, detail, rule.rule.get("reason"), plain)
        if not rule.uses_old_self and ratchet.unchanged():
            check.warnings.append(error if where else error.at("<nil>"))
        else:
            check.report(where, error)


def _seen_by(rule: CompiledRule, variables: dict[str, Any], old: Any) -> dict[str, Any]:
    """The variables of a rule. With optionalOldSelf, `oldSelf` is an optional."""
    if not rule.optional_old_self:
        return variables
    seen = raw(old) if rule.raw and isinstance(old, dict | list) else variables["oldSelf"]
    return {"self": variables["self"], "oldSelf": NONE if old is None else Optional(seen)}


def _name(rule: JsonObject) -> str:
    return str(rule.get("message") or rule["rule"]).strip()


def _failure(outcome: EvaluationResult, text: str) -> str:
    if outcome.error.startswith("no such overload"):
        unsupported = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{outcome.error}': {unsupported}: {text}"
    if outcome.error == _LIMIT_EXCEEDED:
        stopped = "no further validation rules will be run due to call cost exceeds limit for rule"
        return f"'{outcome.error}': {stopped}: {text}"
    return f"{outcome.error} evaluating rule: {text}"


def _message(rule: CompiledRule, message: Program | None, variables: dict[str, Any], check: _Check) -> tuple[str, bool]:
    """The message for a value that breaks the rule, and whether messageExpression exceeded its limit."""
    plain = str(rule.rule.get("message") or "").strip() or f"failed rule: {_name(rule.rule)}"
    if message is None:
        return plain, False
    outcome = check.evaluate(message, variables)
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


def compile_schema(
    schema: JsonObject, *, root: bool = True, shows_values: bool = True, edition: Edition = FIRST
) -> SchemaRules | None:
    """The rules of a custom resource's schema, or of a part of one (`root` is False). None if it has no rules.

    `shows_values`: errors show the wrong values, else their types.
    """
    if not _has_rules(schema):
        return None
    rules = _node(schema, schema, declare(schema, root=root, edition=edition), edition, root=root)
    if rules is not None:
        rules.holds_floats, rules.shows_values = finder(schema), shows_values
    return rules


def validate_default(
    rules: SchemaRules, value: Any, path: str, budget: int, patience: int | None = None
) -> tuple[list[FieldError], int]:
    """The errors of a default value, and the remaining budget (-1 if the rules exceeded it).

    The default is validated as an update that does not change it, then as a new value. Errors of the first end it.
    Raises TooCostly as `SchemaRules.validate` does.
    """
    update = _Check(budget, patience, shows_values=rules.shows_values)
    rules._validate(update, path, value, value, Ratchet(None))
    if update.errors:
        return update.errors, update.budget
    new = _Check(budget, update.patience, shows_values=rules.shows_values)
    rules._validate(new, path, value, None, Ratchet(None))
    return new.errors, min(update.budget, new.budget)


def _has_rules(schema: JsonObject) -> bool:
    if schema.get("x-kubernetes-validations"):
        return True
    below = [schema.get("items"), schema.get("additionalProperties"), *(schema.get("properties") or {}).values()]
    return any(_has_rules(each) for each in below if isinstance(each, dict))


def _node(
    saying: JsonObject, schema: JsonObject, declared: SchemaDeclaration | None, edition: Edition, *, root: bool = False
) -> SchemaRules | None:
    """The rules that `saying` has for values of `schema`. `saying` is the schema itself, or a part of its allOf."""
    rules, error = list[CompiledRule](), ""
    if listed := saying.get("x-kubernetes-validations"):
        if declared is None:
            error = "failed to convert to declType for CEL validation rules"
        else:
            rules = compile_rules(listed, schema, declared, edition)
    node = SchemaRules(schema, declared, rules, error)
    element = declared.element if declared is not None else None
    node.items = _below(saying.get("items"), schema.get("items"), element, edition)
    node.additional = _below(saying.get("additionalProperties"), schema.get("additionalProperties"), element, edition)
    for name, said in (saying.get("properties") or {}).items():
        found = _property(name, said, schema, declared, edition)
        if found is not None:
            node.properties[name] = found
    for said in saying.get("allOf") or ():
        found = _node(said, schema, declared, edition, root=root)
        if found is not None:
            node.all_of.append(found)
    known = node.rules or node.error or node.items or node.additional or node.properties or node.all_of
    return node if known else None


def _below(said: Any, schema: Any, declared: SchemaDeclaration | None, edition: Edition) -> SchemaRules | None:
    if not isinstance(said, dict) or not isinstance(schema, dict):
        return None
    return _node(said, schema, declared, edition)


def _property(
    name: str, said: JsonObject, schema: JsonObject, declared: SchemaDeclaration | None, edition: Edition
) -> SchemaRules | None:
    below = (schema.get("properties") or {}).get(name)
    if below is None:
        return None
    if (written := escape(name)) is None:
        own = declare(below, root=bool(below.get("x-kubernetes-embedded-resource")), edition=edition)
        return None if own is None else _node(said, below, own, edition)
    fields = declared.fields if declared is not None else None
    known = (fields or {}).get(written)
    return None if known is None else _node(said, below, known[1], edition)
