"""MutatingAdmissionPolicy: the policies that match a write change its object.

Source: page "Mutating Admission Policy"; refusals and reinvocation are as in kube-apiserver.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
from gateway.admission.policies.turns import Turns
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.admission.request_value import request_value
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, identical
from gateway.validation.field import go_quote

NAME = "MutatingAdmissionPolicy"
_Key = tuple[str, str, str, str]  # policy, binding, the parameter's namespace and name


@dataclass(slots=True)
class _Reinvocations:
    """What the second run of the plug-ins has to know of the first.

    `ran` are the invocations that ran and have the reinvocationPolicy IfNeeded, `again` those that have to run again,
    and `output` is the resulting object.
    """

    ran: set[_Key] = field(default_factory=set)
    again: set[_Key] = field(default_factory=set)
    output: JsonObject | None = None

    def require(self) -> None:
        """All invocations in `ran` have to run again."""
        self.again |= self.ran
        self.ran = set()


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
) -> None:
    """Lets the policies that match a write change its object. Raises StatusError when they fail."""
    mutating = _Mutating(parts, admission, Decisions(parts.authorizer))
    found = list[_Invocation]()
    for candidate in candidates:
        target = candidate.target(admission.name)
        if target is not None and await mutating.selects(candidate.hook.policy, None, candidate.constraints):
            found += await mutating.invocations(candidate, target)
    if found:
        await mutating.run(found)
    if mutating.failures:
        raise _refusal(admission, mutating.failures)


def _refusal(admission: Admission, failures: Sequence[tuple[str, str]]) -> StatusError:
    error = refused(admission, admission.obj, "")
    error.message, reason = failures[0]
    error.reason = reason or error.reason
    error.details = {**(error.details or {}), "causes": [{"message": message} for message, _ in failures]}
    return error


@dataclass(slots=True)
class _Mutating:
    """One run for one write; `failures` are messages and reasons."""

    parts: PluginParts
    admission: Admission
    decisions: Decisions
    failures: list[tuple[str, str]] = field(default_factory=list)
    turns: Turns = field(default_factory=Turns)

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

    async def run(self, invocations: Sequence[_Invocation]) -> None:
        """Makes all mutations, each on the result of the one before. Raises StatusError."""
        admission = self.admission
        known: _Reinvocations = admission.reinvocations.setdefault(NAME, _Reinvocations())
        if admission.reinvoked and not identical(known.output, admission.obj):
            known.require()
        namespace = await namespace_of(admission, self.parts.objects)
        changed = False
        for each in invocations:
            await self.turns.take()
            if await self._invoke(each, namespace, known):
                changed = True
                known.require()
        if changed:
            known.require()
            admission.reinvoke = True
        known.output = admission.obj

    async def _invoke(self, invocation: _Invocation, namespace: JsonObject | None, known: _Reinvocations) -> bool:
        """Makes the mutations of one invocation. Returns whether they have changed the object."""
        admission, policy, target = self.admission, invocation.policy, invocation.target
        program = await policy.program()
        versioned = await admission.as_version(target.kind.group_version)
        activation = activation_of(
            admission, versioned, target.kind, self.decisions, namespace=namespace, params=invocation.param
        )
        match = await program.match(activation)
        if match.error:
            self._fail(policy, invocation.binding, match.error, "Invalid")
        if not match.matches or (admission.reinvoked and invocation.key not in known.again):
            return False
        changed = False
        if versioned.obj is not None:
            activation = replace(activation, request=request_value(admission, target.kind, target.resource))
            made = await self._mutated(invocation, program, versioned.obj, activation)
            if changed := not identical(made, versioned.obj):
                await admission.replace(made)
        if program.again:
            known.ran.add(invocation.key)
        return changed

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
