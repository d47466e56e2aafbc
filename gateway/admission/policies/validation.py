"""Evaluates a ValidatingAdmissionPolicy for one write, with one parameter object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gateway.admission.condition_metrics import ConditionOwner
from gateway.admission.expressions import Activation, Evaluation, MatchConditions, OutOfBudget, Result
from gateway.cel.costs import PER_EXPRESSION, PER_OBJECT
from gateway.cel.editions import edition_of
from gateway.cel.policies import Compiled, PolicyExpressions
from gateway.jsontypes import JsonObject
from gateway.release.gates import Enabled
from gateway.release.release import DEFAULT_GATES
from gateway.validation.expressions import Use
from gateway.validation.names import byte_length

LONGEST_MESSAGE, LONGEST_ANNOTATION = 5 * 1024, 10 * 1024  # bytes
DEFAULT_REASON = "Invalid"


@dataclass(frozen=True, slots=True)
class Denial:
    """A failed validation of a policy: the one at `index` is false, or cannot be evaluated."""

    index: int
    message: str
    reason: str = DEFAULT_REASON
    seconds: float = 0.0


@dataclass(slots=True)
class Judgement:
    """The result of a policy for one write.

    `errors` are those of audit annotations: they refuse the write whatever validationActions the binding has.
    `ignored` are errors that the failurePolicy Ignore lets pass.
    """

    denials: list[Denial] = field(default_factory=list)
    annotations: list[tuple[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    ignored: list[Denial] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Validation:
    expression: Compiled
    message_expression: Compiled | None
    message: str
    reason: str


class ValidatingPolicy:
    """The compiled expressions of one policy."""

    def __init__(self, name: str, spec: JsonObject, enabled: Enabled = DEFAULT_GATES.enabled) -> None:
        self._asker = ConditionOwner(name, "policy", "validate")
        self._fails = spec.get("failurePolicy", "Fail") != "Ignore"
        expressions = PolicyExpressions("paramKind" in spec, composed=True, edition=edition_of(enabled))
        self._variables: Mapping[str, Compiled] = compiled_variables(spec, expressions)
        self._conditions = MatchConditions.compile(spec.get("matchConditions") or (), expressions, self._variables)
        self._validations = [_validation(each, expressions) for each in spec.get("validations") or ()]
        self._messages = sum(each.message_expression is not None for each in self._validations)
        self._annotations: Sequence[tuple[str, Compiled]] = [
            (each["key"], expressions.compile(each["valueExpression"], Use.AUDIT_ANNOTATION))
            for each in spec.get("auditAnnotations") or ()
        ]

    async def judge(self, activation: Activation, request: JsonObject) -> Judgement:
        """Evaluates the policy for a write. Validations see `request`; match conditions see that of `activation`."""
        if self._conditions.conditions:
            alone = replace(activation, namespace=None)
            match = await self._conditions.match(alone, fail=self._fails, asker=self._asker)
            if match.error:
                return self._failed(match.error)
            if not match.matches:
                return Judgement()
        activation = replace(activation, request=request)
        judgement = Judgement()
        try:
            await self._validate(activation, judgement)
            if self._annotations:
                await self._annotate(activation, judgement)
        except OutOfBudget as error:
            return self._failed(str(error))
        return judgement

    def _failed(self, message: str) -> Judgement:
        denial = [Denial(0, message)]
        return Judgement(denial) if self._fails else Judgement(ignored=denial)

    async def _validate(self, activation: Activation, judgement: Judgement) -> None:
        evaluation = Evaluation(activation, self._variables)
        results = [await evaluation.result(each.expression) for each in self._validations]
        broken = any(not result.error and result.value is not True for result in results)
        messages: list[str] = []
        try:
            if broken or evaluation.budget < (self._messages * (1 + len(self._variables))) * PER_EXPRESSION:
                messages = await self._messages_of(activation, evaluation.budget)
        except OutOfBudget as error:
            messages, results = [], [each if each.error else _no_message(error) for each in results]
        for index, (validation, result) in enumerate(zip(self._validations, results, strict=True)):
            if result.error:
                denial = Denial(index, result.error, seconds=result.seconds)
                (judgement.denials if self._fails else judgement.ignored).append(denial)
            elif result.value is not True:
                message = messages[index] or validation.message
                judgement.denials.append(Denial(index, message, validation.reason, result.seconds))

    async def _messages_of(self, activation: Activation, budget: int) -> list[str]:
        """The values of the message expressions, "" where there is none that can be used. Raises OutOfBudget."""
        evaluation, found = Evaluation(replace(activation, authorized=False), self._variables, budget), list[str]()
        for each in self._validations:
            if each.message_expression is None:
                found.append("")
            else:
                found.append(_usable(await evaluation.result(each.message_expression)))
        return found

    async def _annotate(self, activation: Activation, judgement: Judgement) -> None:
        evaluation = Evaluation(replace(activation, authorized=False), self._variables, PER_OBJECT)
        for key, compiled in self._annotations:
            result = await evaluation.result(compiled)
            if result.error:
                judgement.errors += [result.error] if self._fails else []
            elif isinstance(result.value, str) and (value := result.value.strip()):
                judgement.annotations.append((key, _cut(value)))


def compiled_variables(spec: JsonObject, expressions: PolicyExpressions) -> dict[str, Compiled]:
    """The variables of a policy's spec."""
    return {
        each["name"]: expressions.variable(each["name"], each["expression"]) for each in spec.get("variables") or ()
    }


def _validation(spec: JsonObject, expressions: PolicyExpressions) -> _Validation:
    text, message_expression = spec["expression"], spec.get("messageExpression")
    return _Validation(
        expressions.compile(text, Use.CONDITION),
        expressions.compile(message_expression, Use.MESSAGE) if message_expression else None,
        (spec.get("message") or "").strip() or f"failed expression: {text.strip()}",
        spec.get("reason", DEFAULT_REASON),
    )


def _no_message(error: OutOfBudget) -> Result:
    return Result(error=f"failed messageExpression: {error}")


def _usable(result: Result) -> str:
    if not isinstance(result.value, str):  # or it has an error
        return ""
    message = result.value.strip()
    return "" if "\n" in message or byte_length(message) > LONGEST_MESSAGE else message


def _cut(value: str) -> str:
    if byte_length(value) <= LONGEST_ANNOTATION:
        return value
    return value.encode(errors="surrogateescape")[:LONGEST_ANNOTATION].decode(errors="ignore")
