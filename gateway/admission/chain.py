"""The admission chain: which plug-ins look at a write, in kube-apiserver's order.

A plug-in says once which resources and operations it handles. The chain of a resource is compiled from that, so a
plug-in costs nothing on other resources (page "Admission Control in Kubernetes").

Policies, webhooks and quotas are plug-ins too, at the end of the list (`plugins.PLUGINS`). Their view of the cluster
is made once per process and passed in `PluginParts`. A webhook or policy that changes the object returns a record with
`reinvoke`. Then the whole mutating half runs a second time, with `reinvoked`. In that run only the
webhooks and policies with the reinvocationPolicy IfNeeded are called.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from gateway.access.authorization import Authorizer
from gateway.admission.metrics import ADMIT, VALIDATE, AdmissionHalf, Idle, timed
from gateway.admission.policies.policies import Policies
from gateway.admission.record import Admission, Found
from gateway.admission.webhooks.sorts import AdmissionWebhooks
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects
from gateway.kinds.registry import Registry
from gateway.kinds.resource import Resource
from gateway.quotas.charges import Charges
from gateway.release.release import Release, release_of

Review = Callable[[Admission], Found]
"""Reviews one admission. Returns None when it is done, or the record that follows; or an awaitable of either.

Raises StatusError, usually 403, to refuse the write; so may the awaitable. Most reviews do nothing for most writes, and
then need no coroutine.
"""


class _LookingUp(Protocol):
    """A review that reads other objects."""

    def __call__(self, admission: Admission, /, objects: Objects) -> Found: ...


ByKind = Callable[[str, str, str], Resource | None]
"""Returns the resource that serves a group, version and kind; None if there is none."""

Create = Callable[[GroupVersionResource, str, JsonObject], Awaitable[bool]]
"""Creates an object in a namespace as the server itself. Returns False if an object of that name exists."""


@dataclass(frozen=True, slots=True)
class PluginReviews:
    """What a plug-in does: `admit` runs before validation and may return a changed copy of the object, `validate` runs
    after it.

    Neither is called while `idle.idle` is true.
    """

    admit: Review | None = None
    validate: Review | None = None
    idle: Idle | None = None


async def nothing_created(gvr: GroupVersionResource, namespace: str, obj: JsonObject) -> bool:
    """The `Create` of plug-ins that create nothing: always False."""
    return False


Kinds = Callable[[], Registry]
"""Makes the kinds that the server serves; called only if their rules are needed."""


@dataclass(frozen=True, slots=True)
class PluginParts:
    """The dependencies of plug-ins. `configured` has what `Plugin.configure` returned, by the plug-in's name.

    `create` is set by the endpoint whose writes the plug-ins review.
    """

    objects: Objects
    authorizer: Authorizer
    charges: Charges
    configured: Mapping[str, object]
    by_kind: ByKind
    policies: Policies
    webhooks: AdmissionWebhooks
    toleration_seconds: tuple[int, int] = (300, 300)  # for nodes that are not ready, and for unreachable ones
    release: Release = field(default_factory=release_of)
    create: Create = nothing_created


@dataclass(frozen=True, slots=True)
class Plugin:
    """An admission plug-in; `make` is called once for each resource whose writes it handles.

    `configure` is called once per process with the plug-in's part of --admission-control-config-file, or with None if
    there is none. Its result is in `PluginParts.configured`; the reviews of all resources may share it. A plug-in whose
    configuration names files with objects has `manifests` in the place of `configure`: it gets the served kinds too.
    """

    name: str
    handles: Callable[[Resource, Operation], bool]
    make: Callable[[PluginParts], PluginReviews]
    configure: Callable[[JsonObject | None], object] | None = None  # raises InvalidConfiguration
    manifests: Callable[[JsonObject | None, Kinds], object] | None = None  # raises InvalidConfiguration


def looking_up(
    admit: _LookingUp | None = None, validate: _LookingUp | None = None
) -> Callable[[PluginParts], PluginReviews]:
    """The `make` of a plug-in that needs only `PluginParts.objects`."""

    def make(parts: PluginParts) -> PluginReviews:
        return PluginReviews(
            None if admit is None else partial(admit, objects=parts.objects),
            None if validate is None else partial(validate, objects=parts.objects),
        )

    return make


@dataclass(frozen=True, slots=True)
class AdmissionChain:
    """The plug-ins of one resource, by operation."""

    mutating: dict[Operation, AdmissionHalf]
    validating: dict[Operation, AdmissionHalf]

    def mutate(self, admission: Admission) -> Awaitable[Admission]:
        """Runs the mutating half, and a second time if a plug-in asks for it. Returns the last record.

        Raises the first refusal.
        """
        return self.mutating[admission.operation].run(admission)

    def validate(self, admission: Admission) -> Awaitable[Admission]:
        """Runs the validating half. Returns the last record; raises the first refusal."""
        return self.validating[admission.operation].run(admission)


def compile_chain(plugins: Collection[Plugin], resource: Resource, parts: PluginParts) -> AdmissionChain:
    """Compiles the chain of a resource or subresource from the enabled plug-ins, in their order."""
    made: dict[str, PluginReviews] = {}
    mutating, validating = dict[Operation, AdmissionHalf](), dict[Operation, AdmissionHalf]()
    for operation in Operation:
        relevant = [plugin for plugin in plugins if plugin.handles(resource, operation)]
        for plugin in relevant:
            if plugin.name not in made:
                made[plugin.name] = plugin.make(parts)
        reviews = [(plugin.name, made[plugin.name]) for plugin in relevant]
        admits = [(each.admit, name, each.idle) for name, each in reviews if each.admit is not None]
        mutating[operation] = AdmissionHalf(
            (timed(admit, name, ADMIT, operation, idle) for admit, name, idle in admits), ADMIT, operation
        )
        validates = [(each.validate, name, each.idle) for name, each in reviews if each.validate is not None]
        validating[operation] = AdmissionHalf(
            (timed(validate, name, VALIDATE, operation, idle) for validate, name, idle in validates),
            VALIDATE,
            operation,
        )
    return AdmissionChain(mutating, validating)


def on(*targets: str, operations: Collection[Operation]) -> Callable[[Resource, Operation], bool]:
    """A `handles` for the resources named "group/plural" or "group/plural/subresource" (core: "/pods")."""

    def handles(resource: Resource, operation: Operation) -> bool:
        name = f"{resource.group}/{resource.resource}"
        if resource.subresource:
            name = f"{name}/{resource.subresource}"
        return operation in operations and name in targets

    return handles
