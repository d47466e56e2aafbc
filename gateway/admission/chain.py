"""The admission chain: which plug-ins look at a write, in kube-apiserver's order.

A plug-in says once which resources and operations it handles; the chain of a resource is compiled from that, so that
a plug-in costs nothing where it has nothing to say (API Concepts has no heading for it; "Admission Control in
Kubernetes" of the reference documentation has).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from enum import Enum

from gateway.admission.lookup import Lookup
from gateway.jsontypes import JsonObject
from gateway.kinds.resource import Resource
from gateway.kinds.strategy import WriteContext


class Operation(Enum):
    """What is done to an object, as admission names it."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


# (object, None for a delete; the object before it, None for a create; …); may change the object in place
Review = Callable[[JsonObject | None, JsonObject | None, WriteContext, Lookup], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Plugin:
    """An admission plug-in. Its functions raise StatusError (as a rule 403) to refuse the write.

    `admit` runs before validation and may change the object, `validate` after it.
    """

    name: str
    handles: Callable[[Resource, Operation], bool]
    admit: Review | None = None
    validate: Review | None = None
    default_on: bool = True


@dataclass(frozen=True, slots=True)
class Chain:
    """The plug-ins that one resource passes, by operation."""

    mutating: dict[Operation, tuple[Review, ...]]
    validating: dict[Operation, tuple[Review, ...]]


def chain_for(resource: Resource, enabled: Collection[str], disabled: Collection[str]) -> Chain:
    """Compiles the chain of a resource or subresource from the plug-ins that are on."""
    from gateway.admission import PLUGINS

    active = [p for p in PLUGINS if p.name not in disabled and (p.default_on or p.name in enabled)]
    mutating, validating = {}, {}
    for operation in Operation:
        relevant = [plugin for plugin in active if plugin.handles(resource, operation)]
        mutating[operation] = tuple(plugin.admit for plugin in relevant if plugin.admit is not None)
        validating[operation] = tuple(plugin.validate for plugin in relevant if plugin.validate is not None)
    return Chain(mutating, validating)


async def review(
    reviews: tuple[Review, ...],
    obj: JsonObject | None,
    old: JsonObject | None,
    context: WriteContext,
    lookup: Lookup,
) -> None:
    """Runs one side of a chain; raises the first refusal."""
    for look in reviews:
        await look(obj, old, context, lookup)


def on(*targets: str, operations: Collection[Operation]) -> Callable[[Resource, Operation], bool]:
    """A `handles` for the resources named "group/plural" or "group/plural/subresource" (core: "/pods")."""

    def handles(resource: Resource, operation: Operation) -> bool:
        name = f"{resource.group}/{resource.resource}"
        if resource.subresource:
            name = f"{name}/{resource.subresource}"
        return operation in operations and name in targets

    return handles
