"""MutatingAdmissionPolicy: the policies that match a write change its object.

Source: page "Mutating Admission Policy"; refusals and reinvocation are as in kube-apiserver.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gateway.admission.chain import PluginParts
from gateway.admission.decisions import Decisions
from gateway.admission.expressions import Activation, activation_of
from gateway.admission.matcher import Candidate, Constraints, MatchTarget, selects
from gateway.admission.policies.apply_configuration import MutationFailed
from gateway.admission.policies.configuration import AdmissionPolicy, Bound, PolicyBinding
from gateway.admission.policies.metrics import observe_mutation
from gateway.admission.policies.mutation import MutatingPolicy
from gateway.admission.policies.namespace import namespace_of
from gateway.admission.policies.params import ConfigurationError
from gateway.admission.policies.target_type import TargetType
from gateway.admission.policies.turns import EvaluationTurns
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.admission.request_value import request_value
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, identical
from gateway.validation.field import go_quote

NAME = "MutatingAdmissionPolicy"
_Key = tuple[str, str, str, str]  # policy, binding, the parameter's namespace and name


class _Reinvocations(NamedTuple):
    """What the second run of the plug-ins has to know of the first.

    `ran` are the invocations that ran and have the reinvocationPolicy IfNeeded, `again` those that have to run again,
    and `output` is the resulting object.
    """

    ran: frozenset[_Key] = frozenset()
    again: frozenset[_Key] = frozenset()
    output: JsonObject | None = None

    def requiring(self) -> _Reinvocations:
        """All invocations in `ran` have to run again."""
        return self._replace(ran=frozenset(), again=self.again | self.ran)


@dataclass(frozen=True, slots=True)
class _Invocation:
    """One policy with one binding and one parameter."""

    policy: AdmissionPolicy[MutatingPolicy]
    binding: PolicyBinding
    target: MatchTarget
    param: JsonObject | None

    @property
    def key(self) -> _Key:
        meta = (self.param or {}).get("metadata") or {}
        return self.policy.name, self.binding.name, meta.get("namespace", ""), meta.get("name", "")


async def mutate(
    parts: PluginParts, admission: Admission, candidates: Sequence[Candidate[Bound[MutatingPolicy]]]
) -> Admission:
    """Lets the policies that match a write change its object. Raises StatusError when they fail."""
    mutating = _Mutating(parts, admission, Decisions(parts.authorizer))
    found = list[_Invocation]()
    for candidate in candidates:
        await mutating.turns.take()
        target = candidate.target(admission.name)
        if target is not None and await mutating.selects(candidate.hook.policy, None, candidate.constraints):
            found += await mutating.invocations(candidate, target)
    if found:
        admission = await mutating.run(found)
    if mutating.failures:
        raise _refusal(admission, mutating.failures)
    return admission


def _refusal(admission: Admission, failures: Sequence[tuple[str, str]]) -> StatusError:
    error = refused(admission, admission.obj, "")
    error.message, reason = failures[0]
    error.reason = reason or error.reason
    error.details = {**(error.details or {}), "causes": [{"message": message} for message, _ in failures]}
    return error


@dataclass(slots=True)
class _Mutating:
    """One run for one write, which begins with `admission`; `failures` are messages and reasons."""

    parts: PluginParts
    admission: Admission
    decisions: Decisions
    failures: list[tuple[str, str]] = field(default_factory=list)
    turns: EvaluationTurns = field(default_factory=EvaluationTurns)

    def _fail(
        self, policy: AdmissionPolicy[MutatingPolicy], binding: PolicyBinding | None, message: str, reason: str = ""
    ) -> None:
        if not policy.fails:
            return
        by = f"policy {go_quote(policy.name)}"
        if binding is not None:
            by = f"policy '{policy.name}' with binding '{binding.name}'"
        self.failures.append((f"{by} denied request: {message}", reason))

    async def selects(
        self, policy: AdmissionPolicy[MutatingPolicy], binding: PolicyBinding | None, by: Constraints
    ) -> bool:
        """Whether the selectors match the write. A missing namespace is an error, to which failurePolicy applies."""
        try:
            return await selects(by, self.admission, self.parts.objects)
        except StatusError as error:
            what = "policy" if binding is None else "binding"
            self._fail(policy, binding, f"failed to configure {what}: {error.message}")
            return False

    async def invocations(self, candidate: Candidate[Bound[MutatingPolicy]], target: MatchTarget) -> list[_Invocation]:
        """The invocations of a policy: one for each binding that matches the write and each parameter object."""
        policy, admission, objects = candidate.hook.policy, self.admission, self.parts.objects
        try:
            params = None if policy.param_kind is None else policy.param_kind.resource(self.parts.by_kind)
        except ConfigurationError as error:
            self._fail(policy, None, f"failed to configure policy: {error}")
            return []
        found = list[_Invocation]()
        for each in candidate.hook.bindings.of(admission.resource, admission.operation):
            await self.turns.take()
            if each.target(admission.name) is None or not await self.selects(policy, each.hook, each.constraints):
                continue
            given: list[JsonObject | None] = [None]
            if params is not None and each.hook.param_ref is not None:
                try:
                    given = [*await each.hook.param_ref.collect(params, objects, admission.namespace)]
                except ConfigurationError as error:
                    self._fail(policy, each.hook, f"failed to configure binding: {error}")
                    continue
            found += [_Invocation(policy, each.hook, target, param) for param in given]
        return found

    async def run(self, invocations: Sequence[_Invocation]) -> Admission:
        """Makes all mutations, each on the result of the one before. Raises StatusError."""
        admission = self.admission
        known: _Reinvocations = admission.kept.get(NAME, _Reinvocations())
        if admission.reinvoked and not identical(known.output, admission.obj):
            known = known.requiring()
        namespace = await namespace_of(admission, self.parts.objects)
        changed = False
        for each in invocations:
            await self.turns.take()
            program = await each.policy.program()
            after = await self._invoke(each, program, admission, namespace, known.again)
            if after is not None and program.again:
                known = known._replace(ran=known.ran | {each.key})
            if after is not None and after is not admission:
                admission, changed, known = after, True, known.requiring()
        if changed:
            known = known.requiring()
        return admission.keeping(NAME, known._replace(output=admission.obj), reinvoke=changed)

    async def _invoke(
        self,
        invocation: _Invocation,
        program: MutatingPolicy,
        admission: Admission,
        namespace: JsonObject | None,
        again: frozenset[_Key],
    ) -> Admission | None:
        """Makes the mutations of one invocation. Returns the record that follows, the same if they change nothing; None
        if they are not to be made.
        """
        target = invocation.target
        versioned = await admission.as_version(target.kind.group_version)
        activation = activation_of(
            admission, versioned, target.kind, self.decisions, namespace=namespace, params=invocation.param
        )
        match = await program.match(activation)
        if match.error:
            self._fail(invocation.policy, invocation.binding, match.error, "Invalid")
        if not match.matches or (admission.reinvoked and invocation.key not in again):
            return None
        if versioned.obj is not None:
            activation = replace(activation, request=request_value(admission, target.kind, target.resource))
            made = await self._mutated(invocation, program, versioned.obj, activation)
            if not identical(made, versioned.obj):
                return await admission.replacing(made)
        return admission

    async def _mutated(
        self, invocation: _Invocation, program: MutatingPolicy, obj: JsonObject, activation: Activation
    ) -> JsonObject:
        """Applies the mutations of a policy one after the other and returns the result. One that fails is left out."""
        new = self.admission.old is None
        kind = TargetType.of(self.admission.resource, invocation.target.kind, new=new)
        for mutation in program.mutations:
            await self.turns.take()
            problem, began = "", time.perf_counter()
            try:
                obj = await program.mutate(mutation, obj, activation, kind)
            except MutationFailed as error:
                problem = str(error)
                self._fail(invocation.policy, invocation.binding, problem, "Invalid")
            seconds = time.perf_counter() - began
            observe_mutation(invocation.policy.name, invocation.binding.name, problem, seconds)
        return obj
