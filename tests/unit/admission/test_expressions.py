"""CEL expressions of webhooks and policies: their variables, calls of the authorizer, and cost limits."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from gateway.access.authorization import Decision, Verdict
from gateway.admission.decisions import Decisions
from gateway.admission.expressions import (
    Activation,
    Evaluation,
    Match,
    MatchConditions,
    OutOfBudget,
    Result,
    activation_of,
)
from gateway.admission.record import Admission, Versioned, record_of
from gateway.admission.request_value import namespace_value
from gateway.cel.policies import Compiled, PolicyExpressions
from gateway.http.request_info import RequestInfo
from gateway.http.user import User
from gateway.kinds.attributes import Attributes, Operation
from gateway.kinds.builtin import builtin_registry
from gateway.kinds.write_context import WriteContext
from gateway.validation import go_regexp
from gateway.validation.expressions import Use
from tests.limits import at_most_cpu

ADA = User("ada", ("system:authenticated",))
CONFIG_MAPS = builtin_registry().resources["", "v1", "configmaps", ""]
COSTLY = "lists.range(300).all(i, lists.range(300).all(j, i + j >= 0))"  # some 540 000 units


class Asking:
    """An authorizer that lets Ada get, and waits before it says anything."""

    def __init__(self) -> None:
        self.asked = list[Attributes]()

    def known(self, attributes: Attributes) -> Verdict | None:
        return None

    async def authorize(self, attributes: Attributes) -> Verdict:
        await asyncio.sleep(0)
        self.asked.append(attributes)
        if attributes.info.verb == "fail":
            return Verdict(Decision.NO_OPINION, error="nobody knows")
        allowed = attributes.info.verb == "get" and attributes.user.name == "ada"
        return Verdict(Decision.ALLOW if allowed else Decision.NO_OPINION, "because")


def admission() -> Admission:
    context = WriteContext(Attributes(ADA, RequestInfo("create", "")), CONFIG_MAPS, namespace="a")
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"x": "1"}}
    return record_of(context, Operation.CREATE, obj, None, CONFIG_MAPS, "", lambda: {"kind": "CreateOptions"})


def activation(authorizer: Asking | None = None, **changes: Any) -> Activation:
    record = admission()
    decisions = Decisions(authorizer or Asking())
    made = activation_of(record, Versioned(record.obj, None), record.kind, decisions)
    return replace(made, **changes)


def evaluate(text: str, **changes: Any) -> Result:
    compiled = PolicyExpressions(params=False, composed=True).compile(text, Use.VARIABLE)
    assert compiled.fault is None, compiled.fault
    return asyncio.run(Evaluation(activation(**changes)).result(compiled))


def match(*texts: str, fail: bool = True, **changes: Any) -> Match:
    conditions = MatchConditions.compile([{"name": f"c{at}", "expression": text} for at, text in enumerate(texts)])
    return asyncio.run(conditions.match(activation(**changes), fail=fail))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("object.data.x", "1"),
        ("oldObject == null", True),
        ("has(oldObject.data)", False),
        ("request.operation + request.kind.kind + request.requestResource.resource", "CREATEConfigMapconfigmaps"),
        ("has(request.name) || has(request.subResource) || has(request.userInfo.uid)", False),
        ("request.userInfo.groups", ["system:authenticated"]),
        ("request.options.kind", "CreateOptions"),
        ("namespaceObject == null", True),
    ],
)
def test_expressions_see_the_request(text: str, value: Any) -> None:
    assert evaluate(text) == Result(value)


def test_expressions_see_some_of_the_namespace() -> None:
    namespace = {"metadata": {"name": "a", "labels": {"x": "y"}, "managedFields": []}, "spec": {}, "status": {}}
    shown = namespace_value(namespace)
    assert shown is not None and "managedFields" not in shown["metadata"]
    assert evaluate("namespaceObject.metadata.labels.x", namespace=shown) == Result("y")


def test_params_are_there_for_policies_that_have_a_kind_of_them() -> None:
    compiled = PolicyExpressions(True, composed=False).compile("params == null", Use.CONDITION)
    assert asyncio.run(Evaluation(activation()).result(compiled)) == Result(True)
    assert PolicyExpressions(False, composed=False).check("params == null", Use.CONDITION) is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("authorizer.group('').resource('pods').namespace('a').name('b').check('get').allowed()", True),
        ("authorizer.group('').resource('pods').check('delete').allowed()", False),
        ("authorizer.path('/x').check('get').reason()", "because"),
        ("authorizer.path('/x').check('fail').errored()", True),
        ("authorizer.path('/x').check('fail').error()", "nobody knows"),
        ("authorizer.path('/x').check('get').error()", ""),
        ("authorizer.requestResource.check('get').allowed()", True),
        ("authorizer.serviceAccount('a', 'robot').path('/x').check('get').allowed()", False),
    ],
)
def test_the_authorizer_is_asked_while_an_expression_waits(text: str, value: Any) -> None:
    assert evaluate(text) == Result(value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("authorizer.path(' ').check('get').allowed()", "path must not be empty"),
        ("authorizer.group('').resource('').check('get').allowed()", "resource must not be empty"),
        ("authorizer.serviceAccount('a', 'B').path('/').check('get').allowed()", "Invalid service account name"),
        ("authorizer.serviceAccount('A', 'b').path('/').check('get').allowed()", "Invalid service account namespace"),
    ],
)
def test_some_questions_cannot_be_asked(text: str, error: str) -> None:
    assert evaluate(text) == Result(error=f"expression '{text}' resulted in error: {error}")


def test_nothing_is_asked_twice_and_what_is_asked_is_what_was_said() -> None:
    authorizer = Asking()
    checks = "authorizer.group('apps').resource('deployments').subresource('scale').namespace('n').name('d')"
    check = f"{checks}.fieldSelector('a=b').labelSelector('c=d').check('get').allowed()"
    assert evaluate(f"{check} && {check}", decisions=Decisions(authorizer)) == Result(True)
    assert len(authorizer.asked) == 1
    info = authorizer.asked[0].info
    assert (info.group, info.version, info.resource, info.subresource) == ("apps", "*", "deployments", "scale")
    assert (info.namespace, info.name, info.field_selector, info.label_selector) == ("n", "d", "a=b", "c=d")


def test_a_third_check_is_too_costly() -> None:
    text = "[1, 2, 3].all(i, authorizer.path('/version').check('get').allowed())"
    assert evaluate(text).error.endswith("operation cancelled: actual cost limit exceeded")
    assert evaluate(text.replace(", 3", "")) == Result(True)


def variables(expressions: PolicyExpressions, **texts: str) -> dict[str, Compiled]:
    return {name: expressions.variable(name, text) for name, text in texts.items()}


def test_variables_are_evaluated_when_they_are_used_and_once() -> None:
    expressions = PolicyExpressions(params=False, composed=True)
    known = variables(
        expressions, checked="authorizer.path('/x').check('get').allowed()", both="variables.checked", bad="1 / 0"
    )
    authorizer = Asking()
    evaluation = Evaluation(activation(decisions=Decisions(authorizer)), known)

    async def results(*texts: str) -> list[Result]:
        return [await evaluation.result(expressions.compile(text, Use.CONDITION)) for text in texts]

    assert asyncio.run(results("variables.checked && variables.both", "variables.both")) == [Result(True)] * 2
    assert len(authorizer.asked) == 1
    spent = 10_000_000 - evaluation.budget
    assert 350_000 < spent < 351_000  # once, though two evaluations use it
    [failed] = asyncio.run(results("variables.bad == 1"))
    why = 'composited variable "bad" fails to evaluate: division by zero'
    assert failed.error == f"expression 'variables.bad == 1' resulted in error: {why}"
    assert asyncio.run(results("true || variables.bad == 1")) == [Result(True)]


def test_all_expressions_together_have_a_budget() -> None:
    compiled = PolicyExpressions(params=False, composed=False).compile(COSTLY, Use.CONDITION)
    evaluation = Evaluation(activation(), budget=1_000_000)

    async def twice() -> None:
        assert await evaluation.result(compiled) == Result(True)
        await evaluation.result(compiled)

    with pytest.raises(OutOfBudget):
        asyncio.run(twice())


def test_what_takes_long_does_not_hold_the_loop() -> None:
    compiled = PolicyExpressions(params=False, composed=False).compile(COSTLY, Use.CONDITION)

    async def longest_gap() -> float:
        evaluation = asyncio.create_task(Evaluation(activation()).result(compiled))
        gaps, last = [0.0], time.thread_time()  # of the loop: what another thread computes does not hold it
        while not evaluation.done():
            await asyncio.sleep(0)
            gaps.append(time.thread_time() - last)
            last = time.thread_time()
        assert await evaluation == Result(True)
        return sorted(gaps)[-2] if len(gaps) > 2 else gaps[-1]

    at_most_cpu(asyncio.run(longest_gap()), 0.1)


async def test_long_searches_leave_the_pool_that_others_use(monkeypatch: pytest.MonkeyPatch) -> None:
    searching = list[str]()
    leave = go_regexp.leave_pool

    def leave_pool() -> None:
        leave()
        searching.append(threading.current_thread().name)

    monkeypatch.setattr(go_regexp, "leave_pool", leave_pool)
    monkeypatch.setattr(go_regexp, "FEW_STEPS", 0)
    monkeypatch.setattr(go_regexp, "MANY_STEPS", 0)
    expressions = PolicyExpressions(params=False, composed=False)
    compiled = expressions.compile("object.data.x.matches('1+')", Use.CONDITION)
    assert (await Evaluation(activation()).result(compiled)).value is True
    assert [name.startswith("long") for name in searching] == [True]


def test_the_first_false_condition_decides_whatever_else_fails() -> None:
    assert match("true", "object.data.x == '1'") == Match(True)
    assert match("object.none == 1", "false", "true") == Match(False, failed="c1")
    error = "expression 'object.none == 1' resulted in error: no such key: none"
    assert match("object.none == 1", "true", "object.none == 1") == Match(False, error=error)
    other = "expression 'object.other == 1' resulted in error: no such key: other"
    assert match("object.none == 1", "object.other == 1").error == f"[{error}, {other}]"
    assert match("object.none == 1", fail=False) == Match(False)


def test_match_conditions_have_a_budget_of_their_own() -> None:
    costly = f"object.metadata.name == 'c' && {COSTLY}"
    assert match(*[costly] * 3) == Match(True)
    assert match(*[costly] * 5).error == str(OutOfBudget())
    assert match(*[costly] * 5, fail=False) == Match(False)


async def test_expressions_of_little_cost_leave_the_event_loop_when_they_take_long() -> None:
    """A comparison of objects costs as much as their members at the top, but all that is in them is read."""
    expressions = PolicyExpressions(params=False, composed=False)
    obj: dict[str, Any] = {"data": {f"k{n}": [{}] * 5 for n in range(5_000)}}
    compiled = [expressions.compile(f"object == object || {n} < 0", Use.CONDITION) for n in range(100)]
    evaluation, began = Evaluation(activation(obj=obj)), time.thread_time()
    for each in compiled:
        assert (await evaluation.result(each)).value is True
    at_most_cpu(time.thread_time() - began, 0.1)
