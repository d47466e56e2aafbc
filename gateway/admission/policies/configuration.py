"""The policies that are bound, compiled once each, and found by what they are about.

They are followed in the turn in which they change, so that a policy is in force once its write is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gateway.admission.matching import Candidate, Constraints, Matcher, Rule
from gateway.admission.policies.params import ParamKind, ParamRef
from gateway.admission.record import Operation
from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.validation.expressions import LONG
from storage.cache import ResourceCache, WatchCache
from storage.entry import ChangeType
from storage.tap import Batch, State, listen

GROUP = "admissionregistration.k8s.io"
# what is never asked about: the API's own configuration of policies, and questions about who may do what
EXEMPT = frozenset(
    (
        *((GROUP, f"{sort}admissionpolic{end}") for sort in ("validating", "mutating") for end in ("ies", "ybindings")),
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    )
)
_ANY = frozenset("*")
_EVERYTHING = Rule(_ANY, _ANY, frozenset((("*", "*"),)), _ANY, "*", frozenset())

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Binding:
    """A binding of a policy."""

    name: str
    param_ref: ParamRef | None
    actions: tuple[str, ...]  # validationActions

    @classmethod
    def of(cls, name: str, spec: JsonObject) -> Binding:
        """Reads a valid binding."""
        return cls(name, ParamRef.of(spec), tuple(spec.get("validationActions") or ()))


class Policy(Generic[C]):
    """A policy; its expressions are compiled when it is first asked."""

    __slots__ = ("_compile", "_program", "_spec", "constraints", "fails", "name", "param_kind")

    def __init__(self, name: str, spec: JsonObject, compile_: Callable[[str, JsonObject], C]) -> None:
        self.name, self._spec, self._compile = name, spec, compile_
        self.constraints = Constraints.of(spec.get("matchConstraints") or {})
        self.param_kind = ParamKind.of(spec)
        self.fails = spec.get("failurePolicy", "Fail") != "Ignore"
        self._program: C | None = None

    def same(self, spec: JsonObject) -> bool:
        """Whether it is what a spec says."""
        return self._spec == spec

    async def program(self) -> C:
        """The policy, compiled; what is long is compiled in a thread."""
        if self._program is None:
            if len(dumps(self._spec)) > LONG:
                self._program = await asyncio.to_thread(self._compile, self.name, self._spec)
            else:
                self._program = self._compile(self.name, self._spec)
        return self._program


@dataclass(frozen=True, slots=True)
class Bound(Generic[C]):
    """A policy and its bindings."""

    policy: Policy[C]
    bindings: Matcher[Binding]


class Bindings(Generic[C]):
    """All policies of one kind that are bound. `compile_` makes of a policy's name and spec what evaluates it."""

    def __init__(self, registry: Registry, compile_: Callable[[str, JsonObject], C]) -> None:
        self.registry, self._compile = registry, compile_
        self._policies: dict[str, Policy[C]] = {}
        self._bindings: dict[str, JsonObject] = {}
        self._matcher: Matcher[Bound[C]] | None = Matcher((), registry)
        self.param_kinds: frozenset[tuple[str, str]] = frozenset()  # groups and kinds of their parameters

    def follow(self, cache: WatchCache, policies: ResourceCache, bindings: ResourceCache) -> Callable[[], None]:
        """Keeps itself up to date; gives what ends it."""

        def tell(batch: Batch) -> None:
            if isinstance(batch, State):
                kept, self._policies = self._policies, {}
                for entry in batch.entries[policies]:
                    self._put(entry.parsed(), kept)
                self._bindings = {_name(obj): obj for obj in (each.parsed() for each in batch.entries[bindings])}
            else:
                for told in batch.told:
                    obj, gone = told.change.entry.parsed(), told.change.type is ChangeType.DELETED
                    if told.resource is policies and not gone:
                        self._put(obj, self._policies)
                    elif told.resource is policies:
                        self._policies.pop(_name(obj), None)
                    elif gone:
                        self._bindings.pop(_name(obj), None)
                    else:
                        self._bindings[_name(obj)] = obj
            self._matcher = None
            kinds = (each.param_kind for each in self._policies.values())
            self.param_kinds = frozenset((each.group, each.kind) for each in kinds if each is not None)

        return listen(cache, [policies, bindings], tell)

    def _put(self, obj: JsonObject, known: dict[str, Policy[C]]) -> None:
        name, spec = _name(obj), obj.get("spec") or {}
        before = known.get(name)
        same = before is not None and before.same(spec)
        self._policies[name] = before if before is not None and same else Policy(name, spec, self._compile)

    def of(self, resource: Resource, operation: Operation) -> Sequence[Candidate[Bound[C]]]:
        """The policies that may concern an operation on a resource, in the order of their names."""
        matcher = self._matcher
        if matcher is None:
            matcher = self._matcher = self._compiled()
        return matcher.of(resource, operation)

    def _compiled(self) -> Matcher[Bound[C]]:
        by_policy = dict[str, list[tuple[Binding, Constraints]]]()
        for name in sorted(self._bindings):
            spec = self._bindings[name].get("spec") or {}
            bound = Binding.of(name, spec), _binding_constraints(spec.get("matchResources"))
            by_policy.setdefault(spec.get("policyName", ""), []).append(bound)
        hooks = [
            (Bound(self._policies[name], Matcher(bindings, self.registry)), self._policies[name].constraints)
            for name, bindings in sorted(by_policy.items())
            if name in self._policies
        ]
        return Matcher(hooks, self.registry)


def _binding_constraints(match: JsonObject | None) -> Constraints:
    """Those of a binding: without rules, it is about all that the policy is about."""
    found = Constraints.of(match or {})
    if found.rules:
        return found
    return Constraints((_EVERYTHING,), found.excluded, found.equivalent, found.namespaces, found.objects)


def _name(obj: JsonObject) -> str:
    name: str = obj["metadata"]["name"]
    return name
