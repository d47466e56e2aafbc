"""The admission chain: which plug-ins look at a write, in kube-apiserver's order.

A plug-in says once which resources and operations it handles; the chain of a resource is compiled from that, so that
a plug-in costs nothing where it has nothing to say (page "Admission Control in Kubernetes").

Policies, webhooks and quotas are plug-ins too, at the end of the list (`plugins.PLUGINS`). What they know of the
cluster is made once a process and handed over in `PluginParts`. One that changes the object sets
`admission.reinvoke`; then the whole mutating half runs a second time, with `admission.reinvoked` set, in which webhooks
and policies ask only what wants it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from gateway.access.authorization import Authorizer
from gateway.admission.metrics import ADMIT, VALIDATE, Half, Idle, timed
from gateway.admission.policies.policies import Policies
from gateway.admission.record import Admission
from gateway.admission.webhooks.sorts import AdmissionWebhooks
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects
from gateway.kinds.resource import Resource
from gateway.quotas.charging import Charges
from gateway.release.release import Release, release_of

Review = Callable[[Admission], Awaitable[None] | None]
"""Looks at what is to be admitted; comes to None, or to what has to be waited for, as also what takes time has to be.

Raises StatusError, as a rule 403, to refuse. Most have nothing to say of most writes, and need no coroutine for that.
"""


class _LookingUp(Protocol):
    """A review that reads other objects."""

    def __call__(self, admission: Admission, /, objects: Objects) -> Awaitable[None] | None: ...


ByKind = Callable[[str, str, str], Resource | None]
"""What serves a group, version and kind."""

Create = Callable[[GroupVersionResource, str, JsonObject], Awaitable[bool]]
"""Creates an object in a namespace in the server's own name; False where there is one of its name."""


@dataclass(frozen=True, slots=True)
class Reviews:
    """What a plug-in does: `admit` runs before validation and may change the object, `validate` after it.

    Neither is called while what they ask is `idle`.
    """

    admit: Review | None = None
    validate: Review | None = None
    idle: Idle | None = None


async def nothing_created(gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
    """For those who create nothing."""
    return False


@dataclass(frozen=True, slots=True)
class PluginParts:
    """What plug-ins are made with, the same for all. `configured` is what `Plugin.configure` made, by plug-in.

    `create` is that of the endpoints whose writes a plug-in looks at: they put it in.
    """

    objects: Objects
    authorizer: Authorizer
    charges: Charges
    configured: Mapping[str, object]
    by_kind: ByKind
    policies: Policies
    webhooks: AdmissionWebhooks
    toleration_seconds: tuple[int, int] = (300, 300)  # of nodes that are not ready, and not reachable
    release: Release = field(default_factory=release_of)
    create: Create = nothing_created


@dataclass(frozen=True, slots=True)
class Plugin:
    """An admission plug-in; `make` is called once for each resource whose writes it handles.

    `configure` is called once a process with the plug-in's part of --admission-control-config-file, None where it has
    none: what it returns is in `PluginParts.configured`, and may be what all resources share.
    """

    name: str
    handles: Callable[[Resource, Operation], bool]
    make: Callable[[PluginParts], Reviews]
    configure: Callable[[JsonObject | None], object] | None = None  # raises InvalidConfiguration


def looking_up(admit: _LookingUp | None = None, validate: _LookingUp | None = None) -> Callable[[PluginParts], Reviews]:
    """The `make` of a plug-in that needs nothing but other objects."""

    def make(parts: PluginParts) -> Reviews:
        return Reviews(
            None if admit is None else partial(admit, objects=parts.objects),
            None if validate is None else partial(validate, objects=parts.objects),
        )

    return make


@dataclass(frozen=True, slots=True)
class Chain:
    """The plug-ins that one resource passes, by operation."""

    mutating: dict[Operation, Half]
    validating: dict[Operation, Half]

    def mutate(self, admission: Admission) -> Awaitable[None]:
        """Runs the mutating half, twice where one asks for that; raises the first refusal."""
        return self.mutating[admission.operation].run(admission)

    def validate(self, admission: Admission) -> Awaitable[None]:
        """Runs the validating half; raises the first refusal."""
        admission.forget_versions()
        return self.validating[admission.operation].run(admission)


def compile_chain(plugins: Collection[Plugin], resource: Resource, parts: PluginParts) -> Chain:
    """The chain of a resource or subresource out of the plug-ins that are on, in their order."""
    made: dict[str, Reviews] = {}
    mutating, validating = dict[Operation, Half](), dict[Operation, Half]()
    for operation in Operation:
        relevant = [plugin for plugin in plugins if plugin.handles(resource, operation)]
        for plugin in relevant:
            if plugin.name not in made:
                made[plugin.name] = plugin.make(parts)
        reviews = [(plugin.name, made[plugin.name]) for plugin in relevant]
        admits = [(each.admit, name, each.idle) for name, each in reviews if each.admit is not None]
        mutating[operation] = Half(
            (timed(admit, name, ADMIT, operation, idle) for admit, name, idle in admits), ADMIT, operation
        )
        validates = [(each.validate, name, each.idle) for name, each in reviews if each.validate is not None]
        validating[operation] = Half(
            (timed(validate, name, VALIDATE, operation, idle) for validate, name, idle in validates),
            VALIDATE,
            operation,
        )
    return Chain(mutating, validating)


def on(*targets: str, operations: Collection[Operation]) -> Callable[[Resource, Operation], bool]:
    """A `handles` for the resources named "group/plural" or "group/plural/subresource" (core: "/pods")."""

    def handles(resource: Resource, operation: Operation) -> bool:
        name = f"{resource.group}/{resource.resource}"
        if resource.subresource:
            name = f"{name}/{resource.subresource}"
        return operation in operations and name in targets

    return handles
