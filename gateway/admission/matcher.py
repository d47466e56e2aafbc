"""Finds the webhooks and policies that match a write: by their rules, then by labels of its namespace and object.

Rules depend only on the resource and the operation, so their matches are cached by both. A write that matches none
costs one look-up ("Dynamic Admission Control", "Matching requests").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar
from weakref import ref

from gateway.admission.record import Admission
from gateway.http.status import not_found
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersionKind, GroupVersionResource, core
from gateway.kinds.model import Model
from gateway.kinds.objects import Objects
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.selectors.label_selector import Matches, compile_selector

GROUP = "admissionregistration.k8s.io"

H = TypeVar("H")

NAMESPACES = core("namespaces")
_ANY = "*"


@dataclass(frozen=True, slots=True)
class RuleWithOperations:
    """A RuleWithOperations, or NamedRuleWithOperations, of admissionregistration.k8s.io."""

    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[tuple[str, str]]  # and subresources: "pods/*" is ("pods", "*")
    operations: frozenset[str]
    scope: str
    names: frozenset[str]  # resourceNames; empty for any

    @classmethod
    def of(cls, rule: JsonObject) -> RuleWithOperations:
        """Reads a valid rule."""
        split = (each.partition("/") for each in rule.get("resources") or ())
        return cls(
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("apiVersions") or ()),
            frozenset((resource, subresource) for resource, _, subresource in split),
            frozenset(rule.get("operations") or ()),
            rule.get("scope") or _ANY,
            frozenset(rule.get("resourceNames") or ()),
        )

    def covers(self, resource: Resource, operation: Operation) -> bool:
        """Whether the rule matches an operation on a resource. The resourceNames are not looked at."""
        return (
            not self.operations.isdisjoint((_ANY, operation.value))
            and not self.groups.isdisjoint((_ANY, resource.group))
            and not self.versions.isdisjoint((_ANY, resource.version))
            and self._names(resource)
            and self._reaches(resource)
        )

    def _names(self, resource: Resource) -> bool:
        """`*` is any resource without its subresources; `pods/*` are pods and all their subresources."""
        return any(
            plural in (_ANY, resource.resource) and subresource in (_ANY, resource.subresource)
            for plural, subresource in self.resources
        )

    def _reaches(self, resource: Resource) -> bool:
        """Whether the scope fits. A Namespace is cluster-scoped, though requests for one have its name as namespace."""
        if self.scope == _ANY:
            return True
        return (self.scope == "Namespaced") == resource.namespaced


@dataclass(frozen=True, slots=True)
class Constraints:
    """Which requests a webhook, a policy or a binding wants to see: the fields of MatchResources, compiled."""

    rules: tuple[RuleWithOperations, ...]
    excluded: tuple[RuleWithOperations, ...]
    equivalent: bool
    namespaces: Matches | None
    objects: Matches | None

    @classmethod
    def of(cls, constraints: JsonObject, rules: str = "resourceRules") -> Constraints:
        """Reads matchPolicy, the selectors, excludeResourceRules, and the rules, which are in the member `rules`."""
        return cls(
            tuple(map(RuleWithOperations.of, constraints.get(rules) or ())),
            tuple(map(RuleWithOperations.of, constraints.get("excludeResourceRules") or ())),
            constraints.get("matchPolicy", "Equivalent") == "Equivalent",
            compile_selector(constraints.get("namespaceSelector")),
            compile_selector(constraints.get("objectSelector")),
        )


class MatchTarget(NamedTuple):
    """The resource and kind by which a webhook or policy sees a request: the requested ones, or equivalent ones."""

    resource: GroupVersionResource
    kind: GroupVersionKind


class Way(NamedTuple):
    """One rule that matches a request: its resourceNames (empty for any), and the target that it matched."""

    names: frozenset[str]
    target: MatchTarget


@dataclass(frozen=True, slots=True)
class Candidate(Generic[H]):
    """A webhook, policy or binding whose rules match an operation on a resource.

    Whether names and labels fit is found out for each request.
    """

    hook: H
    constraints: Constraints
    ways: tuple[Way, ...]
    exclusions: tuple[frozenset[str], ...]

    def target(self, name: str) -> MatchTarget | None:
        """The target of a request for the object `name`; None if no rule has that name, or an exclusion has it."""
        if any(name in names for names in self.exclusions):
            return None
        return next((way.target for way in self.ways if not way.names or name in way.names), None)


class Matcher(Generic[H]):
    """Finds the webhooks, policies or bindings that match a request, in their order. Its hooks never change."""

    def __init__(self, hooks: Sequence[tuple[H, Constraints]], registry: Registry) -> None:
        self._hooks, self._registry = tuple(hooks), registry
        # with a weak reference to the model, by which we see that another model serves the resource now
        self._known: dict[tuple[str, str, str, str, Operation], tuple[ref[Model], tuple[Candidate[H], ...]]] = {}

    def of(self, resource: Resource, operation: Operation) -> tuple[Candidate[H], ...]:
        """The candidates for an operation on a resource. They are cached until the resource has another model."""
        if not self._hooks:
            return ()
        key = (resource.group, resource.version, resource.resource, resource.subresource, operation)
        known = self._known.get(key)
        if known is None or known[0]() is not resource.model:
            others = [each for each in self._equivalents(resource) if each.gvr != resource.gvr]
            found = (candidate(*each, resource, operation, others) for each in self._hooks)
            known = self._known[key] = ref(resource.model), tuple(each for each in found if each is not None)
        return known[1]

    def _equivalents(self, resource: Resource) -> list[Resource]:
        """The resources that serve the same stored objects in any version or group, `resource` among them."""
        prefix = resource.storage_prefix
        if not prefix:
            return []
        served = self._registry.resources.values()
        return [each for each in served if each.storage_prefix == prefix and each.subresource == resource.subresource]


class InForce(ABC, Generic[H]):
    """The webhooks or policies of one kind that are in force: first those from files, then the stored ones.

    `guarded` are resources of admissionregistration.k8s.io. Only webhooks or policies from files see writes to them,
    so that a broken stored one can be removed.
    """

    guarded: frozenset[str]

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.idle = False  # true once it is known that there are none
        self.informed = True  # whether the stored ones are loaded
        self._of_files: Sequence[tuple[H, Constraints]] = ()
        self._guards: Matcher[H] = Matcher((), registry)
        self._matcher: Matcher[H] | None = None  # of all, made at the first use after a change

    def of(self, resource: Resource, operation: Operation) -> Sequence[Candidate[H]]:
        """The candidates for an operation on a resource, in their order."""
        if resource.group == GROUP and resource.resource in self.guarded:
            return self._guards.of(resource, operation)
        matcher = self._matcher
        if matcher is None:
            matcher = self._matcher = Matcher(self._all(self._of_files), self.registry)
        return matcher.of(resource, operation)

    @abstractmethod
    def _all(self, of_files: Sequence[tuple[H, Constraints]]) -> Sequence[tuple[H, Constraints]]:
        """All webhooks or policies, those from files first, each with its constraints."""

    @abstractmethod
    def _is_empty(self) -> bool:
        """Whether it is known that none is stored."""

    def _take_files(self, found: Sequence[tuple[H, Constraints]]) -> None:
        """Replaces the webhooks or policies from files."""
        self._of_files, self._guards = found, Matcher(found, self.registry)
        self._forget()

    def _forget(self) -> None:
        """Drops the matcher and updates `idle`. Call it after each change."""
        self._matcher, self.idle = None, not self._of_files and self._is_empty()


def candidate(
    hook: H, constraints: Constraints, resource: Resource, operation: Operation, equivalents: Sequence[Resource]
) -> Candidate[H] | None:
    """The candidate of a hook for an operation on a resource; None if the hook never matches it.

    A rule that matches the resource itself comes before one that matches an equivalent. Among equivalents the order is
    that of the rules, then that in which the resources are served.
    """
    if any(not rule.names for rule in _covering(constraints.excluded, resource, operation, constraints, equivalents)):
        return None
    ways = [Way(rule.names, _target(resource)) for rule in constraints.rules if rule.covers(resource, operation)]
    if constraints.equivalent:
        ways += [
            Way(rule.names, _target(other))
            for rule in constraints.rules
            for other in equivalents
            if rule.covers(other, operation)
        ]
    if not ways:
        return None
    excluded = _covering(constraints.excluded, resource, operation, constraints, equivalents)
    return Candidate(hook, constraints, tuple(ways), tuple(rule.names for rule in excluded))


def _target(resource: Resource) -> MatchTarget:
    return MatchTarget(resource.gvr, resource.gvk)


def _covering(
    rules: Sequence[RuleWithOperations],
    resource: Resource,
    operation: Operation,
    constraints: Constraints,
    equivalents: Sequence[Resource],
) -> list[RuleWithOperations]:
    seen = (resource, *equivalents) if constraints.equivalent else (resource,)
    return [rule for rule in rules if any(rule.covers(each, operation) for each in seen)]


async def selects(constraints: Constraints, admission: Admission, objects: Objects) -> bool:
    """Whether namespaceSelector and objectSelector match a request. Raises StatusError 404 for a missing namespace.

    A namespaceSelector matches all objects of cluster-scoped kinds, but a Namespace only by its own labels.
    """
    if constraints.namespaces is not None and not await _is_in_namespace(constraints.namespaces, admission, objects):
        return False
    matches = constraints.objects
    return matches is None or any(
        matches(each["metadata"].get("labels") or {})
        for each in (admission.obj, admission.old)
        if each is not None and "metadata" in each
    )


async def _is_in_namespace(matches: Matches, admission: Admission, objects: Objects) -> bool:
    resource, obj = admission.resource, admission.obj
    of_namespace = not resource.group and resource.resource == "namespaces"
    if of_namespace and not resource.subresource and obj is not None:
        return matches(obj["metadata"].get("labels") or {})
    if not of_namespace and not resource.namespaced:
        return True
    found = await objects.get(NAMESPACES, "", admission.namespace)
    if found is None:
        raise not_found("", "namespaces", admission.namespace)
    return matches(found["metadata"].get("labels") or {})
