"""The policies that have bindings, each compiled once, found by the resource and operation that they match.

Changes are applied in the turn of the event loop in which the watch cache gets them. So a policy is in force when its
write is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gateway.admission.matcher import Constraints, InForce, Matcher, RuleWithOperations
from gateway.admission.policies.params import ParamKind, ParamRef
from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.registry import Registry
from gateway.validation.expressions import LONG
from storage.entry import Entry
from storage.followers import ByName
from storage.keys import name_of

GUARDED = frozenset(f"{sort}admissionpolic{end}" for sort in ("validating", "mutating") for end in ("ies", "ybindings"))
"""Resources whose writes only policies from files see, so that a broken policy can be removed."""

_NAME = "admission-policies"  # in logs and metrics
_ANY = frozenset("*")
_EVERYTHING = RuleWithOperations(_ANY, _ANY, frozenset((("*", "*"),)), _ANY, "*", frozenset())

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class PolicyBinding:
    """A binding of a policy."""

    name: str
    policy: str
    param_ref: ParamRef | None
    actions: tuple[str, ...]  # validationActions
    constraints: Constraints

    @classmethod
    def of(cls, name: str, spec: JsonObject) -> PolicyBinding:
        """Reads a valid binding."""
        actions = tuple(spec.get("validationActions") or ())
        constraints = _binding_constraints(spec.get("matchResources"))
        return cls(name, spec.get("policyName", ""), ParamRef.of(spec), actions, constraints)


class AdmissionPolicy(Generic[C]):
    """A policy; its expressions are compiled at the first use."""

    __slots__ = ("_compile", "_program", "_spec", "constraints", "fails", "name", "param_kind")

    def __init__(self, name: str, spec: JsonObject, compile_: Callable[[str, JsonObject], C]) -> None:
        self.name, self._spec, self._compile = name, spec, compile_
        self.constraints = Constraints.of(spec.get("matchConstraints") or {})
        self.param_kind = ParamKind.of(spec)
        self.fails = spec.get("failurePolicy", "Fail") != "Ignore"
        self._program: C | None = None

    def same(self, spec: JsonObject) -> bool:
        """Whether the policy was made from an equal spec."""
        return self._spec == spec

    async def program(self) -> C:
        """The compiled policy. A long one is compiled in a thread."""
        if self._program is None:
            if len(dumps(self._spec)) > LONG:
                self._program = await asyncio.to_thread(self._compile, self.name, self._spec)
            else:
                self._program = self._compile(self.name, self._spec)
        return self._program


@dataclass(frozen=True, slots=True)
class Bound(Generic[C]):
    """A policy and its bindings."""

    policy: AdmissionPolicy[C]
    bindings: Matcher[PolicyBinding]


class Bindings(InForce[Bound[C]], Generic[C]):
    """All policies of one kind that have bindings, in the order of their names.

    `policies` and `bindings` follow the stored objects by name.
    """

    guarded = GUARDED

    def __init__(self, registry: Registry, compile_: Callable[[str, JsonObject], C]) -> None:
        """`compile_` compiles a policy, given its name and spec."""
        super().__init__(registry)
        self._compile, self.idle = compile_, True
        self.policies: ByName[AdmissionPolicy[C]] = ByName(_NAME, self._policy, self._changed, "policy")
        self.bindings: ByName[PolicyBinding] = ByName(_NAME, _binding, self._changed, "policy binding")
        self.param_kinds: frozenset[tuple[str, str]] = frozenset()  # groups and kinds of the policies' parameters

    def guard(self, policies: Sequence[JsonObject], bindings: Sequence[JsonObject]) -> None:
        """Replaces the policies from files, and their bindings."""
        known = {_name(obj): AdmissionPolicy(_name(obj), obj.get("spec") or {}, self._compile) for obj in policies}
        bound = {_name(obj): PolicyBinding.of(_name(obj), obj.get("spec") or {}) for obj in bindings}
        self._take_files(self._bound(known, bound))

    def _policy(self, entry: Entry, before: AdmissionPolicy[C] | None) -> AdmissionPolicy[C]:
        spec = entry.parsed().get("spec") or {}
        if before is not None and before.same(spec):
            return before
        return AdmissionPolicy(name_of(entry.key), spec, self._compile)

    def _changed(self, names: Collection[str], revision: int) -> None:
        self._forget()
        kinds = (each.param_kind for each in self.policies.all.values())
        self.param_kinds = frozenset((each.group, each.kind) for each in kinds if each is not None)

    def _is_empty(self) -> bool:
        return not (self.policies.all and self.bindings.all)

    def _all(self, of_files: Sequence[tuple[Bound[C], Constraints]]) -> Sequence[tuple[Bound[C], Constraints]]:
        return [*of_files, *self._bound(self.policies.all, self.bindings.all)]

    def _bound(
        self, policies: Mapping[str, AdmissionPolicy[C]], bindings: Mapping[str, PolicyBinding]
    ) -> list[tuple[Bound[C], Constraints]]:
        """The policies that have bindings, by their names."""
        by_policy = dict[str, list[tuple[PolicyBinding, Constraints]]]()
        for name in sorted(bindings):
            binding = bindings[name]
            by_policy.setdefault(binding.policy, []).append((binding, binding.constraints))
        return [
            (Bound(policies[name], Matcher(found, self.registry)), policies[name].constraints)
            for name, found in sorted(by_policy.items())
            if name in policies
        ]


def _binding(entry: Entry, before: object) -> PolicyBinding:
    return PolicyBinding.of(name_of(entry.key), entry.parsed().get("spec") or {})


def _binding_constraints(match: JsonObject | None) -> Constraints:
    """The constraints of a binding. Without rules, it matches all that its policy matches."""
    found = Constraints.of(match or {})
    if found.rules:
        return found
    return Constraints((_EVERYTHING,), found.excluded, found.equivalent, found.namespaces, found.objects)


def _name(obj: JsonObject) -> str:
    name: str = obj["metadata"]["name"]
    return name
