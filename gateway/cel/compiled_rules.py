"""Compiles one validation rule (x-kubernetes-validations) and its messageExpression."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.cel.ast import Ident, Node
from gateway.cel.edition import FIRST, Edition
from gateway.cel.environment import Environment
from gateway.cel.estimates import estimate
from gateway.cel.plan import Trust
from gateway.cel.program import InstantiationError, Program, compile_expression, plan
from gateway.cel.raw import differs_raw
from gateway.cel.schema_types import LARGEST_REQUEST, SchemaDeclaration, SchemaTypes
from gateway.cel.source import CompilationError
from gateway.cel.types import BOOL, STRING, optional_of
from gateway.cel.validators import children
from gateway.cel.whole_floats import refuse
from gateway.jsontypes import JsonObject
from gateway.validation.schema_paths import FieldPathError, follow


@dataclass(slots=True)
class CompiledRule:
    """One rule: its program or an error, and the program of its messageExpression or an error."""

    rule: JsonObject
    program: Program | None = None
    error: str = ""
    uses_old_self: bool = False
    # the estimated cost of one evaluation, and the number of evaluations for the largest request if the schema has no
    # bound
    most: int = 0
    cardinality: int = 0
    message: Program | None = None
    message_error: str = ""
    message_most: int = 0
    target: str = ""
    environment: Environment | None = None
    # whether oldSelf is plain JSON that differs from the converted value (see gateway.cel.raw)
    raw: bool = False
    inspecting: tuple[Program, Program | None] | None = None

    @property
    def optional_old_self(self) -> bool:
        """Whether the rule is evaluated for new values too, with an empty optional as oldSelf."""
        return bool(self.rule.get("optionalOldSelf"))

    def programs(self, floats: bool) -> tuple[Program, Program | None]:
        """The programs of the rule and of its message. `floats`: the object has whole floats (1.0) for integers."""
        assert self.program is not None  # rules with an error are not evaluated
        if not floats:
            return self.program, self.message
        if self.inspecting is None:
            self.inspecting = self._inspecting(self.program), self.message and self._inspecting(self.message)
        return self.inspecting

    def _inspecting(self, program: Program) -> Program:
        assert self.environment is not None  # set when the program was compiled
        return plan(program.text, program.tree, self.environment, Trust(self.raw, refuse))


def compile_rules(
    rules: list[JsonObject], schema: JsonObject, declared: SchemaDeclaration, edition: Edition = FIRST
) -> list[CompiledRule]:
    """The compiled rules of one schema node. `declared` is the type of the node's values."""
    types = SchemaTypes(declared)
    cardinality = LARGEST_REQUEST // (declared.smallest + 1)
    compiled = list[CompiledRule]()
    for rule in rules:
        one = CompiledRule(rule, cardinality=cardinality)
        compiled.append(one)
        if (rule.get("rule") or "").strip():
            _compile(one, schema, declared, types, edition)
    return compiled


def _compile(
    one: CompiledRule, schema: JsonObject, declared: SchemaDeclaration, types: SchemaTypes, edition: Edition
) -> None:
    old = optional_of(types.type) if one.optional_old_self else types.type
    environment = Environment({"self": types.type, "oldSelf": old}, types, edition=edition)
    one.raw = one.optional_old_self and differs_raw(declared)
    program = _program(
        one.rule["rule"], environment, Trust(one.raw), "compilation failed", "program instantiation failed"
    )
    if isinstance(program, str):
        one.error = program
        return
    if program.type.kind is not BOOL.kind:
        one.error = "cel expression must evaluate to a bool"
        return
    one.environment = environment
    one.uses_old_self = _mentions(program.tree, "oldSelf")
    one.program, one.most = program, estimate(program.tree, declared, environment.edition).most
    if one.rule.get("messageExpression"):
        _compile_message(one, environment, declared)
    if target := one.rule.get("fieldPath"):
        one.target = _target(target, schema)


def _compile_message(one: CompiledRule, environment: Environment, declared: SchemaDeclaration) -> None:
    program = _program(
        one.rule["messageExpression"],
        environment,
        Trust(one.raw),
        "messageExpression compilation failed",
        "messageExpression instantiation failed",
    )
    if isinstance(program, str):
        one.message_error = program
        return
    if program.type.kind is not STRING.kind:
        one.message_error = "messageExpression must evaluate to a string"
        return
    one.message, one.message_most = program, estimate(program.tree, declared, environment.edition).most


def _program(
    text: str, environment: Environment, trust: Trust, not_compiled: str, not_instantiated: str
) -> Program | str:
    """The program of an expression, or an error message that starts with `not_compiled` or `not_instantiated`."""
    try:
        return compile_expression(text, environment, trust)
    except CompilationError as error:
        return f"{not_compiled}: {error}"
    except InstantiationError as error:
        return f"{not_instantiated}: {error}"


def _mentions(node: Node, name: str) -> bool:
    if isinstance(node, Ident) and node.name == name:
        return True
    return any(_mentions(child, name) for child in children(node))


def _target(path: str, schema: JsonObject) -> str:
    """A rule's fieldPath in the notation of errors; "" if the schema has no such field."""
    try:
        steps, _ = follow(path, schema)
    except FieldPathError:
        return ""
    written = ""
    for step in steps:
        if properties := schema.get("properties"):
            written, schema = f"{written}.{step}" if written else step, properties[step]
        else:
            written, schema = f"{written}[{step}]", schema["additionalProperties"]
    return written
