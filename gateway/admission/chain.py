"""The admission chain: which plug-ins look at a write, in kube-apiserver's order.

A plug-in says once which resources and operations it handles; the chain of a resource is compiled from that, so that
a plug-in costs nothing where it has nothing to say (page "Admission Control in Kubernetes").

Policies, webhooks and quotas are plug-ins too, at the end of the list (`plugins.PLUGINS`). What they know of the
cluster is made once a process and handed over in `Parts`. One that changes the object sets `admission.reinvoke`; then
the whole mutating half runs a second time, with `admission.reinvoked` set, in which webhooks and policies ask only what
wants it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from gateway.access.authorization import Authorizer
from gateway.admission.policies.policies import Policies
from gateway.admission.record import Admission, Operation
from gateway.admission.webhooks.sorts import AdmissionWebhooks, no_webhooks
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects
from gateway.kinds.resource import Resource
from gateway.quotas.charging import Charges

Review = Callable[[Admission], Awaitable[None]]
"""Looks at what is to be admitted. Raises StatusError, as a rule 403, to refuse."""

_LookingUp = Callable[[Admission, Objects], Awaitable[None]]
ByKind = Callable[[str, str, str], Resource | None]
"""What serves a group, version and kind."""

Create = Callable[[GroupVersionResource, str, JsonObject], Awaitable[bool]]
"""Creates an object in a namespace in the server's own name; False where there is one of its name."""


@dataclass(frozen=True, slots=True)
class Reviews:
    """What a plug-in does: `admit` runs before validation and may change the object, `validate` after it."""

    admit: Review | None = None
    validate: Review | None = None


def nothing_served(group: str, version: str, kind: str) -> None:
    """Where nothing is served."""
    return None


async def nothing_created(gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
    """For those who create nothing."""
    return False


@dataclass(frozen=True, slots=True)
class Parts:
    """What plug-ins are made with: of these there is one a process."""

    objects: Objects
    authorizer: Authorizer
    charges: Charges
    configured: Mapping[str, object] = field(default_factory=dict)  # what `Plugin.configure` made, by plug-in
    by_kind: ByKind = nothing_served
    create: Create = nothing_created
    policies: Policies = field(default_factory=Policies)
    webhooks: AdmissionWebhooks = field(default_factory=no_webhooks)


@dataclass(frozen=True, slots=True)
class Plugin:
    """An admission plug-in; `make` is called once for each resource whose writes it handles.

    `configure` is called once a process with the plug-in's part of --admission-control-config-file, None where it has
    none: what it returns is in `Parts.configured`, and may be what all resources share.
    """

    name: str
    handles: Callable[[Resource, Operation], bool]
    make: Callable[[Parts], Reviews]
    default_on: bool = True
    configure: Callable[[JsonObject | None], object] | None = None  # raises InvalidConfiguration


def looking_up(admit: _LookingUp | None = None, validate: _LookingUp | None = None) -> Callable[[Parts], Reviews]:
    """The `make` of a plug-in that needs nothing but other objects."""

    def make(parts: Parts) -> Reviews:
        return Reviews(
            None if admit is None else partial(_with, admit, parts.objects),
            None if validate is None else partial(_with, validate, parts.objects),
        )

    return make


def _with(look: _LookingUp, objects: Objects, admission: Admission) -> Awaitable[None]:
    return look(admission, objects)


@dataclass(frozen=True, slots=True)
class Chain:
    """The plug-ins that one resource passes, by operation."""

    mutating: dict[Operation, tuple[Review, ...]]
    validating: dict[Operation, tuple[Review, ...]]

    async def mutate(self, admission: Admission) -> None:
        """Runs the mutating half, twice where one asks for that; raises the first refusal."""
        reviews = self.mutating[admission.operation]
        for look in reviews:
            await look(admission)
        if admission.reinvoke:
            admission.reinvoked = True
            for look in reviews:
                await look(admission)

    async def validate(self, admission: Admission) -> None:
        """Runs the validating half; raises the first refusal."""
        admission.forget_versions()
        for look in self.validating[admission.operation]:
            await look(admission)


def compile_chain(plugins: Collection[Plugin], resource: Resource, parts: Parts) -> Chain:
    """The chain of a resource or subresource out of the plug-ins that are on, in their order."""
    made: dict[str, Reviews] = {}
    mutating, validating = {}, {}
    for operation in Operation:
        relevant = [plugin for plugin in plugins if plugin.handles(resource, operation)]
        for plugin in relevant:
            if plugin.name not in made:
                made[plugin.name] = plugin.make(parts)
        reviews = [made[plugin.name] for plugin in relevant]
        mutating[operation] = tuple(each.admit for each in reviews if each.admit is not None)
        validating[operation] = tuple(each.validate for each in reviews if each.validate is not None)
    return Chain(mutating, validating)


def on(*targets: str, operations: Collection[Operation]) -> Callable[[Resource, Operation], bool]:
    """A `handles` for the resources named "group/plural" or "group/plural/subresource" (core: "/pods")."""

    def handles(resource: Resource, operation: Operation) -> bool:
        name = f"{resource.group}/{resource.resource}"
        if resource.subresource:
            name = f"{name}/{resource.subresource}"
        return operation in operations and name in targets

    return handles
