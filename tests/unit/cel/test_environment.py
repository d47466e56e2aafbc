"""CEL environments other than a schema's: untyped variables, objects that expressions create, optional libraries."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.cel.environment import Environment, Maker, NoStructs
from gateway.cel.libraries.authorizer import AuthorizerDecision, AuthorizerVariable, Question
from gateway.cel.program import Program, compile_expression
from gateway.cel.rules import TooCostly, compile_schema
from gateway.cel.source import CompilationError
from gateway.cel.types import DYN, STRING, CelType, parse


class _Patches(NoStructs):
    def known(self, name: str) -> bool:
        return name == "JSONPatch"

    def field(self, name: str, field: str) -> CelType | None:
        return STRING if field in ("op", "path") else DYN if field == "value" else None

    def maker(self, name: str) -> Maker | None:
        return dict if name == "JSONPatch" else None


def _compile(text: str, **variables: str) -> Program:
    types = {name: parse(written) for name, written in variables.items()}
    return compile_expression(text, Environment(types, _Patches(), frozenset({"jsonpatch"})))


def test_objects_are_made_where_the_environment_has_a_maker() -> None:
    program = _compile("[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('b/c~d'), ?value: optional.of(1)}]")
    assert program.evaluate({}).value == [{"op": "add", "path": "/a/b~1c~0d", "value": 1}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("JSONPatch{op: 1}", "expected type of field 'op' is 'string' but provided type is 'int'"),
        ("JSONPatch{nothing: 1}", "undefined field 'nothing'"),
        ("Other{op: 'a'}", "undeclared reference to 'Other' (in container '')"),
    ],
)
def test_objects_that_cannot_be_made_are_refused(text: str, message: str) -> None:
    with pytest.raises(CompilationError) as refused:
        _compile(text)
    assert message in str(refused.value)


def test_optional_functions_are_undeclared_elsewhere() -> None:
    with pytest.raises(CompilationError, match="undeclared reference to 'jsonpatch'"):
        compile_expression("jsonpatch.escapeKey('a')", Environment())


def test_untyped_objects_are_json() -> None:
    program = _compile(
        "object.spec.replicas > 1 && has(object.metadata.labels) && object.list[0].a == 'b'", object="dyn"
    )
    value = {"spec": {"replicas": 2}, "metadata": {"labels": {}}, "list": [{"a": "b"}]}
    assert program.evaluate({"object": value}).value is True
    assert program.evaluate({"object": {}}).error == "no such key: spec"


def test_authorization_checks_ask_who_decides() -> None:
    asked = list[Question]()

    def decide(question: Question) -> AuthorizerDecision:
        asked.append(question)
        return AuthorizerDecision(allowed=True, reason="so it is")

    text = "authorizer.group('apps').resource('deployments').namespace('a').name('b').check('get').reason()"
    program = _compile(text, authorizer="kubernetes.authorization.Authorizer")
    outcome = program.evaluate({"authorizer": AuthorizerVariable(decide, "me")})
    assert outcome.value == "so it is"
    assert asked == [Question("me", "get", None, "apps", "deployments", "", "a", "b")]
    assert outcome.cost > 350_000


def test_rules_that_take_too_long_are_put_off() -> None:
    schema: dict[str, Any] = {"type": "array", "items": {"type": "integer"}}
    schema["x-kubernetes-validations"] = [{"rule": "self.all(x, self.all(y, x + y >= 0))"}]
    rules = compile_schema({"type": "object", "properties": {"a": schema}})
    assert rules is not None
    assert rules.validate({"a": [1] * 10}, patience=10_000) == ([], [])
    with pytest.raises(TooCostly):
        rules.validate({"a": [1] * 100}, patience=10_000)
    assert rules.validate({"a": [1] * 100}) == ([], [])
