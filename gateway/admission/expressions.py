"""Evaluates the expressions of webhooks and policies about one write, without holding up the event loop.

    conditions = MatchConditions.compile(hook.get("matchConditions") or [])   # once a configuration
    activation = activation_of(admission, await admission.as_version(…), kind, Decisions(authorizer))   # once a version
    match = await conditions.match(activation, fail=failure_policy == "Fail")
    match.error     # not "": the write is refused with these words, as kube-apiserver does (403)
    match.matches   # False: the webhook is not called

`kind` is the one that the webhook's rule matched, and the objects are in its version. One `Decisions` serves all
webhooks in one half of a write. Conditions that do not compile fail when they are evaluated; only another server can
have stored them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gateway.admission.condition_metrics import ConditionOwner, observe
from gateway.admission.decisions import Decisions, Undecided
from gateway.admission.record import Admission, Versioned
from gateway.admission.refusal import joined
from gateway.admission.request_value import namespace_value, request_value
from gateway.cel.costs import PER_EXPRESSION, PER_OBJECT
from gateway.cel.edition import FIRST, Edition
from gateway.cel.libraries.authorizer import AuthorizerVariable, Question, ResourceCheck
from gateway.cel.metrics import EVALUATION
from gateway.cel.policies import (
    AUTHORIZER,
    NAMESPACE,
    OBJECT_VARIABLE,
    OLD_OBJECT,
    PARAMS,
    REQUEST,
    REQUEST_RESOURCE,
    VARIABLES,
    Compiled,
    PolicyExpressions,
)
from gateway.cel.program import EvaluationResult, Program
from gateway.cel.values import CostExceeded, EvaluationError, register
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionKind, GroupVersionResource
from gateway.time_limits import TakesLong, at_once, in_thread
from gateway.validation.expressions import Use
from gateway.validation.field import go_quote

MATCH_BUDGET = 2_500_000  # of all match conditions of a webhook or policy together
LOOP_BUDGET = 50_000  # units of cost for which the event loop evaluates: some 5 ms; a thread does the rest
_ON_LOOP = 0.01  # seconds for which it does: reading a large object may take longer than its cost tells
_BEGINNING = 20  # units of cost for the overhead of one expression
_EXCEEDED = str(CostExceeded())


class OutOfBudget(Exception):
    """All expressions together cost too much: no more are evaluated."""

    def __init__(self) -> None:
        super().__init__("validation failed due to running out of cost budget, no further validation rules will be run")


class _Missing:
    """The value of a variable that is declared but not available in this evaluation: each use of it is an error."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> None:
        raise EvaluationError(f"no such attribute(s): {self._name}")


@dataclass(frozen=True, slots=True)
class Activation:
    """The variables of expressions for one write. `resource` is the question of `authorizer.requestResource`, without
    a verb.
    """

    obj: JsonObject | None
    old: JsonObject | None
    request: JsonObject
    decisions: Decisions
    user: User
    resource: Question
    namespace: JsonObject | None = None  # the object's namespace, as `namespace_value` has it
    params: JsonObject | None = None
    authorized: bool = True  # whether the authorizer may be asked

    def values(self) -> dict[str, Any]:
        """The values of the variables by their names."""
        decide = self.decisions.decide
        return {
            OBJECT_VARIABLE: self.obj,
            OLD_OBJECT: self.old,
            REQUEST: self.request,
            NAMESPACE: self.namespace,
            PARAMS: self.params,
            AUTHORIZER: AuthorizerVariable(decide, self.user) if self.authorized else _Missing(AUTHORIZER),
            REQUEST_RESOURCE: ResourceCheck(decide, self.resource) if self.authorized else _Missing(REQUEST_RESOURCE),
        }


def activation_of(
    admission: Admission,
    versioned: Versioned,
    kind: GroupVersionKind,
    decisions: Decisions,
    *,
    resource: GroupVersionResource | None = None,
    namespace: JsonObject | None = None,
    params: JsonObject | None = None,
) -> Activation:
    """The activation of an admission. `kind` and `resource` (by default the requested one) are those in `request`.

    `namespace` is the stored Namespace of the object; match conditions see none.
    """
    gvr = admission.gvr
    return Activation(
        versioned.obj,
        versioned.old,
        request_value(admission, kind, resource or gvr),
        decisions,
        admission.user,
        Question(
            admission.user,
            group=gvr.group,
            resource=gvr.resource,
            subresource=admission.subresource,
            namespace=admission.namespace,
            name=admission.name,
        ),
        namespace_value(namespace),
        params,
    )


@dataclass(frozen=True, slots=True)
class Result:
    """The value of an expression, or its error in kube-apiserver's words, and the seconds that it took."""

    value: Any = None
    error: str = ""
    seconds: float = field(default=0.0, compare=False)


class Evaluation:
    """Evaluates several expressions within one cost budget. A variable that several of them use is evaluated once."""

    __slots__ = ("_decisions", "_on_loop", "_patience", "_spent", "_values", "_variables", "budget")

    def __init__(
        self, activation: Activation, variables: Mapping[str, Compiled] | None = None, budget: int = PER_OBJECT
    ) -> None:
        self.budget = budget  # what is left
        self._decisions = activation.decisions
        self._patience, self._spent = LOOP_BUDGET, 0
        self._on_loop = 0.0  # seconds that the event loop has evaluated
        self._values = activation.values()
        self._variables = variables or {}
        self._values[VARIABLES] = _Variables(self)

    async def result(self, compiled: Compiled) -> Result:
        """Evaluates an expression. Raises OutOfBudget."""
        if compiled.program is None:
            return Result(error=f"compilation error: {compiled.fault.message if compiled.fault else ''}")
        began = time.perf_counter()
        outcome = await self._outcome(compiled.program)
        seconds = time.perf_counter() - began
        EVALUATION.observe(seconds)
        spent, self._spent = self._spent, 0
        for cost in (spent, outcome.cost):
            if cost > self.budget:
                raise OutOfBudget
            self.budget -= cost
        if outcome.error:
            return Result(error=f"expression '{compiled.text}' resulted in error: {outcome.error}", seconds=seconds)
        return Result(outcome.value, seconds=seconds)

    async def _outcome(self, program: Program) -> EvaluationResult:
        while True:
            try:
                if self._patience > 0:
                    return self._computed_here(program)
                return await in_thread(partial(self._compute, program))
            except TakesLong:
                self._patience = 0
            except Undecided as waiting:
                await self._decisions.find(waiting.question)

    def _computed_here(self, program: Program) -> EvaluationResult:
        """Evaluates a program on the event loop. Raises as `_compute`."""
        began = time.monotonic()
        try:
            return at_once(partial(self._compute, program))
        finally:
            self._on_loop += time.monotonic() - began
            if self._on_loop > _ON_LOOP:
                self._patience = 0

    def _compute(self, program: Program) -> EvaluationResult:
        """Evaluates a program. Raises Undecided, and TakesLong if a thread has to do it instead of the event loop."""
        patience = self._patience
        if patience <= 0:
            return program.evaluate(self._values, PER_EXPRESSION)
        outcome = program.evaluate(self._values, min(PER_EXPRESSION, patience))
        if outcome.error == _EXCEEDED:
            raise TakesLong
        self._patience = max(patience - outcome.cost - _BEGINNING, 0)
        return outcome

    def variable(self, name: str) -> EvaluationResult | None:
        """Evaluates a variable; None if there is none of that name. Raises as `_compute`."""
        if (compiled := self._variables.get(name)) is None:
            return None
        if compiled.program is None:
            why = compiled.fault.message if compiled.fault else ""
            return EvaluationResult(None, f"composited variable {go_quote(name)} fails to compile: {why}", 0)
        outcome = self._compute(compiled.program)
        self._spent += outcome.cost
        if outcome.error:
            why = f"composited variable {go_quote(name)} fails to evaluate: {outcome.error}"
            return EvaluationResult(None, why, 0)
        return outcome


class _Variables(dict[str, Any]):
    """The variables of a policy, each of which is evaluated when it is first used."""

    __slots__ = ("_evaluation", "_known")

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__()
        self._evaluation = evaluation
        self._known = dict[str, EvaluationResult | None]()

    def get(self, name: str, default: Any = None) -> Any:
        """See dict. Raises EvaluationError for a variable that cannot be evaluated."""
        if name not in self._known:
            self._known[name] = self._evaluation.variable(name)
        outcome = self._known[name]
        if outcome is None:
            return default
        if outcome.error:
            raise EvaluationError(outcome.error)
        return outcome.value


register(_Variables, "kubernetes.variables")


@dataclass(frozen=True, slots=True)
class Match:
    """Whether a webhook or policy applies; `failed` names the condition that is false, `error` says what went wrong."""

    matches: bool
    failed: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class MatchConditions:
    """The match conditions of one webhook or policy, compiled; a policy's may name its `variables`."""

    conditions: Sequence[tuple[str, Compiled]]
    variables: Mapping[str, Compiled] = field(default_factory=dict)

    @classmethod
    def compile(
        cls,
        conditions: Sequence[JsonObject],
        expressions: PolicyExpressions | None = None,
        variables: Mapping[str, Compiled] | None = None,
        edition: Edition = FIRST,
    ) -> MatchConditions:
        """Compiles the conditions of an object. `expressions` and `variables` are a policy's; webhooks have none."""
        expressions = expressions or PolicyExpressions(params=False, composed=False, edition=edition)
        return cls(
            [(each["name"], expressions.compile(each["expression"], Use.CONDITION)) for each in conditions],
            variables or {},
        )

    async def match(self, activation: Activation, *, fail: bool, asker: ConditionOwner | None = None) -> Match:
        """Whether all conditions are true. One that cannot be evaluated is an error with `fail`, else no match.

        A false condition decides, even if others have errors. `asker` is the owner of the conditions, for metrics.
        """
        if not self.conditions:
            return Match(True)
        began, errors = time.perf_counter(), list[str]()
        found = await self._match(activation, fail, errors)
        if asker is not None and not found.matches:
            observe(asker, activation.request["operation"], len(errors), time.perf_counter() - began)
        return found

    async def _match(self, activation: Activation, fail: bool, errors: list[str]) -> Match:
        evaluation = Evaluation(activation, self.variables, MATCH_BUDGET)
        for name, compiled in self.conditions:
            try:
                result = await evaluation.result(compiled)
            except OutOfBudget as error:
                return Match(False, error=str(error) if fail else "")
            if result.error:
                errors.append(result.error)
            elif result.value is False:
                return Match(False, failed=name)
        if errors:
            return Match(False, error=joined(errors) if fail else "")
        return Match(True)
