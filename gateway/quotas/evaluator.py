"""The interface of an evaluator: what the objects of one resource use of quotas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.memo import Once, each_time
from gateway.quotas.amounts import Amounts
from gateway.quotas.scopes import ScopeSelector


class Classes(Protocol):
    """Looks up other objects for the evaluator of ResourceClaims."""

    def extended_resource(self, device_class: str) -> str:
        """The extendedResourceName of a DeviceClass, "" if it has none."""
        ...

    def has_class_of(self, extended_resource: str) -> bool:
        """Whether there is a DeviceClass for an extended resource."""
        ...

    def owner_usage(self, claim: JsonObject) -> Amounts:
        """The usage of the pod for whose extended resources a claim was made; {} for other claims."""
        ...


@dataclass(frozen=True, slots=True)
class EvaluatedWrite:
    """A write as evaluators see it. Objects are in the storage version, ResourceClaims in resource.k8s.io/v1.

    `old` is None for a create.
    """

    operation: Operation
    subresource: str
    obj: JsonObject
    old: JsonObject | None
    known: dict[str, Amounts] = field(default_factory=dict, compare=False)  # cached usage, see Evaluator
    of_spec: Once = each_time  # for results that depend on the specification of the object alone

    def usage(self, evaluator: Evaluator, classes: Classes) -> Amounts:
        """What the new object uses."""
        if "new" in self.known:
            return self.known["new"]
        if evaluator.follows_others:
            return evaluator.usage(self.obj, classes)
        if evaluator.by_specification:
            found = self.of_spec("usage", lambda: evaluator.usage(self.obj, classes))
        else:
            found = evaluator.usage(self.obj, classes)
        self.known["new"] = found
        return found

    def missing(self, evaluator: Evaluator, names: Sequence[str]) -> str:
        """The message about the requests and limits that the new object lacks for these names; "" if it lacks none."""
        if not evaluator.by_specification:
            return evaluator.has_to_say(names, self.obj)
        return self.of_spec(("said", *names), lambda: evaluator.has_to_say(names, self.obj))


def no_constraints(names: Iterable[str], obj: JsonObject) -> str:
    """The `has_to_say` of resources that need not say anything."""
    return ""


def no_scopes(selector: ScopeSelector, obj: JsonObject) -> bool:
    """The `in_scope` of resources without scopes."""
    return False


@dataclass(frozen=True, slots=True)
class Evaluator:
    """How the objects of one resource are counted.

    `names` are the names in `hard` that it counts; `more_names` tells whether it counts another name. `usage` computes
    what an object uses. `handles` tells which writes may use more. `has_to_say` returns a message about the requests
    and limits that an object lacks, "" if it lacks none. `in_scope` tells whether a requirement of a scope selects an
    object. `follows_others`: `usage` depends on other objects too, so that each check computes it again.
    `by_specification`: `usage` and `has_to_say` of a new object depend on its specification alone.
    """

    group: str
    resource: str
    names: frozenset[str]
    usage: Callable[[JsonObject, Classes], Amounts]
    handles: Callable[[EvaluatedWrite], bool]
    more_names: Callable[[str, Classes], bool] = lambda name, classes: False
    has_to_say: Callable[[Iterable[str], JsonObject], str] = no_constraints
    in_scope: Callable[[ScopeSelector, JsonObject], bool] = no_scopes
    has_scopes: bool = False
    follows_others: bool = False
    by_specification: bool = False

    def matching(self, names: Iterable[str], classes: Classes) -> list[str]:
        """Which of these names the evaluator counts."""
        own, more = self.names, self.more_names
        return [name for name in names if name in own or more(name, classes)]

    def is_selected(self, selectors: Sequence[ScopeSelector], obj: JsonObject) -> bool:
        """Whether all requirements select an object."""
        return all(self.in_scope(selector, obj) for selector in selectors)


def count_name(group: str, resource: str) -> str:
    """The name under which the objects of a resource are counted."""
    return f"count/{resource}.{group}" if group else f"count/{resource}"
