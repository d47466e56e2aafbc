"""What is known of one resource as far as quotas are concerned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.admission.record import Operation
from gateway.jsontypes import JsonObject
from gateway.quotas.amounts import Amounts
from gateway.quotas.scopes import ScopeSelector


class Classes(Protocol):
    """What evaluators of devices ask about other objects."""

    def extended_resource(self, device_class: str) -> str:
        """The extended resource that a device class stands for, "" for none."""
        ...

    def has_class_of(self, extended_resource: str) -> bool:
        """Whether a device class stands for an extended resource."""
        ...

    def owner_usage(self, claim: JsonObject) -> Amounts:
        """What the pod for whose extended resources a claim was made uses itself; nothing where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Written:
    """A write as evaluators look at it. Objects are in the resource's storage version; `old` is None for a create."""

    operation: Operation
    subresource: str
    obj: JsonObject
    old: JsonObject | None


def no_constraints(names: Iterable[str], obj: JsonObject) -> str:
    """For resources of which nothing has to be said."""
    return ""


def no_scopes(selector: ScopeSelector, obj: JsonObject) -> bool:
    """For resources that are in no scope."""
    return False


@dataclass(frozen=True, slots=True)
class Evaluator:
    """How the objects of one resource are counted.

    `names` are those of `hard` that it counts, whatever else `more_names` finds; `usage` is what an object uses of
    anything; `handles` tells which writes may use more; `has_to_say` names what is missing, "" for nothing; `in_scope`
    whether a requirement of a scope selects an object. `lowers` tells whether a change to an object may free something.
    """

    group: str
    resource: str
    names: frozenset[str]
    usage: Callable[[JsonObject, Classes], Amounts]
    handles: Callable[[Written], bool]
    more_names: Callable[[str, Classes], bool] = lambda name, classes: False
    has_to_say: Callable[[Iterable[str], JsonObject], str] = no_constraints
    in_scope: Callable[[ScopeSelector, JsonObject], bool] = no_scopes
    has_scopes: bool = False

    def matching(self, names: Iterable[str], classes: Classes) -> list[str]:
        """Those of the names that it counts."""
        own, more = self.names, self.more_names
        return [name for name in names if name in own or more(name, classes)]

    def is_selected(self, selectors: Sequence[ScopeSelector], obj: JsonObject) -> bool:
        """Whether an object is in all scopes."""
        return all(self.in_scope(selector, obj) for selector in selectors)


def count_name(group: str, resource: str) -> str:
    """The name under which the objects of a resource are counted."""
    return f"count/{resource}.{group}" if group else f"count/{resource}"
