"""ValidatingAdmissionPolicy: evaluates the policies that match a write, and does what their bindings say.

Source: page "Validating Admission Policy"; messages and their order are kube-apiserver's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gateway.admission.chain import PluginParts
from gateway.admission.decisions import Decisions
from gateway.admission.expressions import activation_of
from gateway.admission.matcher import Candidate, Constraints, MatchTarget, selects
from gateway.admission.policies.configuration import AdmissionPolicy, Bound, PolicyBinding
from gateway.admission.policies.metrics import Action, observe_validation
from gateway.admission.policies.namespace import namespace_of
from gateway.admission.policies.params import ConfigurationError
from gateway.admission.policies.turns import EvaluationTurns
from gateway.admission.policies.validation import DEFAULT_REASON, Denial, Judgement, ValidatingPolicy
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.admission.request_value import request_value
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, go_dumps
from gateway.kinds.resource import Resource

_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}
_FAILURE = "validation.policy.admission.k8s.io/validation_failure"
_MOST_FAILURES = 50  # that one annotation has


async def review(
    parts: PluginParts, admission: Admission, candidates: Sequence[Candidate[Bound[ValidatingPolicy]]]
) -> None:
    """Evaluates the policies that match a write. Raises StatusError for the first denial."""
    reviewed = _Review(parts, admission, Decisions(parts.authorizer))
    for candidate in candidates:
        await reviewed.turns.take()
        target = candidate.target(admission.name)
        if target is not None and await reviewed.selects(candidate.hook.policy, None, candidate.constraints):
            await reviewed.ask(candidate, target)
    reviewed.tell_failures()
    if reviewed.denied:
        raise _refusal(admission, *reviewed.denied[0])


def _refusal(admission: Admission, message: str, reason: str) -> StatusError:
    error = refused(admission, admission.obj, message)
    error.reason, error.code = reason, _CODES.get(reason, 422)
    error.details = {**(error.details or {}), "causes": [{"message": message}]}
    return error


@dataclass(slots=True)
class _Review:
    """One write, and its denials so far as messages and reasons. The client gets the first one.

    `failures` are what bindings with the action Audit tell.
    """

    parts: PluginParts
    admission: Admission
    decisions: Decisions
    denied: list[tuple[str, str]] = field(default_factory=list)
    failures: list[JsonObject] = field(default_factory=list)
    turns: EvaluationTurns = field(default_factory=EvaluationTurns)

    def _deny(self, policy: str, binding: PolicyBinding | None, message: str, reason: str = DEFAULT_REASON) -> None:
        by = f"ValidatingAdmissionPolicy '{policy}'" + (f" with binding '{binding.name}'" if binding else "")
        self.denied.append((f"{by} denied request: {message}", reason))

    def _audit(self, failure: JsonObject) -> None:
        if len(self.failures) < _MOST_FAILURES:
            self.failures.append(failure)

    def tell_failures(self) -> None:
        """Puts the failures into the audit event: all in one annotation, or the first alone, as the release has it."""
        if self.failures:
            together = self.parts.release.gates.enabled("AuditFailuresTogether")
            self.admission.annotate(_FAILURE, go_dumps(self.failures if together else self.failures[:1]))

    async def selects(
        self, policy: AdmissionPolicy[ValidatingPolicy], binding: PolicyBinding | None, by: Constraints
    ) -> bool:
        """Whether the selectors match the write. A missing namespace is an error, to which failurePolicy applies."""
        try:
            return await selects(by, self.admission, self.parts.objects)
        except StatusError as error:
            if policy.fails:
                what = "policy" if binding is None else "binding"
                self._deny(policy.name, binding, f"failed to configure {what}: {error.message}")
            return False

    async def ask(self, candidate: Candidate[Bound[ValidatingPolicy]], target: MatchTarget) -> None:
        """Evaluates a policy with each of its bindings that match the write."""
        policy, admission = candidate.hook.policy, self.admission
        try:
            params = None if policy.param_kind is None else policy.param_kind.resource(self.parts.by_kind)
        except ConfigurationError as error:
            if policy.fails:
                self._deny(policy.name, None, f"failed to configure policy: {error}")
            return
        annotations = dict[str, dict[str, None]]()
        for each in candidate.hook.bindings.of(admission.resource, admission.operation):
            await self.turns.take()
            if each.target(admission.name) is None:
                continue
            if not await self.selects(policy, each.hook, each.constraints):
                continue
            for judgement in await self._judge(policy, each.hook, params, target):
                self._act(policy, each.hook, judgement)
                for key, value in judgement.annotations:
                    annotations.setdefault(key, {})[value] = None
        for key, values in annotations.items():
            admission.annotate(f"{policy.name}/{key}", ", ".join(values))

    async def _judge(
        self,
        policy: AdmissionPolicy[ValidatingPolicy],
        binding: PolicyBinding,
        params: Resource | None,
        target: MatchTarget,
    ) -> list[Judgement]:
        """Evaluates the policy with each parameter object of a binding."""
        admission, objects = self.admission, self.parts.objects
        found: list[JsonObject | None] = [None]
        if params is not None and binding.param_ref is not None:
            try:
                found = [*await binding.param_ref.collect(params, objects, admission.namespace)]
            except ConfigurationError as error:
                if policy.fails:
                    self._deny(policy.name, binding, f"failed to configure binding: {error}")
                return []
        if not found:
            return []
        versioned = await admission.as_version(target.kind.group_version)
        namespace, program = await namespace_of(admission, objects), await policy.program()
        request = request_value(admission, target.kind, target.resource)
        judgements = list[Judgement]()
        for each in found:
            await self.turns.take()
            activation = activation_of(
                admission, versioned, target.kind, self.decisions, namespace=namespace, params=each
            )
            judgements.append(await program.judge(activation, request))
        return judgements

    def _act(self, policy: AdmissionPolicy[ValidatingPolicy], binding: PolicyBinding, judgement: Judgement) -> None:
        for denial in judgement.ignored:
            observe_validation(policy.name, binding.name, Action.ALLOW, denial.message, denial.seconds)
        for denial in judgement.denials:
            for action in binding.actions:
                observe_validation(policy.name, binding.name, Action(action.lower()), denial.message, denial.seconds)
                if action == "Deny":
                    self._deny(policy.name, binding, denial.message, denial.reason)
                elif action == "Audit":
                    self._audit(_failure(policy.name, binding, denial))
                elif action == "Warn":
                    where = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
                    self.admission.warn(f"Validation failed for {where}: {denial.message}")
        for error in judgement.errors:
            observe_validation(policy.name, binding.name, Action.DENY, error, 0.0)
            self._deny(policy.name, binding, error)


def _failure(policy: str, binding: PolicyBinding, denial: Denial) -> JsonObject:
    return {
        "message": denial.message,
        "policy": policy,
        "binding": binding.name,
        "expressionIndex": denial.index,
        "validationActions": list(binding.actions),
    }
