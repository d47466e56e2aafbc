"""The record of one admission, as apiserver's `admission.Attributes`.

Each attempt of a write has one record for each half of admission. So has an eviction, and the deletion that it makes.
Plug-ins, policies, webhooks and quotas see this and nothing else of a request.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersion, GroupVersionKind, GroupVersionResource
from gateway.kinds.write_context import Once, WriteContext
from storage.change import Charge

if TYPE_CHECKING:
    from gateway.kinds.resource import Resource


class Versioned(NamedTuple):
    """The object and the old object in one version of their kind."""

    obj: JsonObject | None
    old: JsonObject | None


def _no_options() -> None:
    return None


Annotate = Callable[[str, str, bool], None]
"""Adds an audit annotation: key, value, and whether it is a detail (see `Admission.annotate`)."""


def unrecorded(key: str, value: str, detail: bool) -> None:
    """The `Annotate` of a write without an audit record: does nothing."""


class Admission:
    """One admission: an operation on one object.

    `obj` is the new object: None for DELETE, the options object for CONNECT. `old` is the stored object: None for
    CREATE and CONNECT. Both have kind and apiVersion. Custom kinds, and subresources with a kind of their own (Scale,
    Eviction), are in the requested version. All others are in the storage version, as in-tree plug-ins expect.
    `as_version` converts both to the requested version (that of `kind`) or to another one. A mutating plug-in changes
    `obj` in place or assigns another object; no plug-in changes `old`. In the validating half `obj` is as it will be
    stored.

    `name` is empty before a name is generated, and for the objects of a deletecollection. `namespace` is the
    request's; in a request for one Namespace it is that Namespace's name.
    """

    __slots__ = (
        "_annotate",
        "_context",
        "_make_options",
        "_options",
        "_versions",
        "charge",
        "name",
        "namespace",
        "obj",
        "old",
        "operation",
        "reinvocations",
        "reinvoke",
        "reinvoked",
        "replaced",
        "resource",
    )

    def __init__(
        self,
        context: WriteContext,
        operation: Operation,
        obj: JsonObject | None,
        old: JsonObject | None,
        name: str | None = None,
        *,
        resource: Resource,
        make_options: Callable[[], JsonObject | None] = _no_options,
        annotate: Annotate = unrecorded,
    ) -> None:
        """`resource` is the admitted resource, which may not be the written one. `make_options` gives `options`.

        `name` is that of the context unless given.
        """
        self._context, self._make_options, self._annotate = context, make_options, annotate
        self._options: JsonObject | None = None
        self._versions: dict[GroupVersion, Versioned] = {}
        self.resource = resource
        self.operation, self.obj, self.old = operation, obj, old
        self.namespace, self.name = context.namespace, context.name if name is None else name
        self.charge: Charge | None = None  # the quota charge, made in the transaction of the write
        # `reinvoke`: set by a webhook or policy that has changed the object; the mutating half then runs once more.
        # `reinvoked`: whether this is that second run. `reinvocations`: what a plug-in keeps of the first, by its name.
        self.reinvoke = self.reinvoked = False
        self.replaced = False  # whether a plug-in has replaced the object that was sent
        self.reinvocations: dict[str, Any] = {}

    def validating(self, context: WriteContext, obj: JsonObject | None, old: JsonObject | None, name: str) -> Admission:
        """The record of the validating half, for the object as it will be stored."""
        other = Admission.__new__(Admission)
        other._context, other._make_options, other._annotate = context, self._make_options, self._annotate
        other._options, other._versions = self._options, {}
        other.resource, other.operation, other.obj, other.old = self.resource, self.operation, obj, old
        other.namespace, other.name, other.charge = self.namespace, name, None
        other.reinvoke, other.reinvoked, other.replaced = self.reinvoke, self.reinvoked, self.replaced
        other.reinvocations = self.reinvocations
        return other

    @property
    def kind(self) -> GroupVersionKind:
        """The kind that the request is about: Scale (autoscaling/v1) for a scale, Eviction for an eviction."""
        return self.resource.gvk

    @property
    def gvr(self) -> GroupVersionResource:
        """The resource that the request names, without the subresource: pods of a pods/eviction."""
        return self.resource.gvr

    @property
    def subresource(self) -> str:
        """The subresource's name, "" for the resource itself."""
        return self.resource.subresource

    @property
    def user(self) -> User:
        """The user of the request; the impersonated one where there is one."""
        return self._context.user

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be stored, sent or charged."""
        return self._context.dry_run

    @property
    def now(self) -> str:
        """RFC 3339 time of the write, seconds."""
        return self._context.now

    @property
    def recurs(self) -> bool:
        """Whether the spec of the new object has come before."""
        return self._context.specification.template is not None

    @property
    def once(self) -> Once:
        """Caches results that depend on the spec of the new object alone, if the spec recurs.

        It does not refer to the admission.
        """
        return self._context.specification.once

    def has_passed(self, rule: Hashable) -> bool:
        """Whether the spec of the new object is known to pass a rule that depends on the spec alone."""
        return self._context.specification.has_passed(rule)

    def passes(self, rule: Hashable) -> None:
        """Records that the spec of the new object passes a rule."""
        self._context.specification.passes(rule)

    @property
    def options(self) -> JsonObject | None:
        """CreateOptions, UpdateOptions or DeleteOptions of meta.k8s.io/v1, as the client sent them; None for CONNECT.

        A patch and an apply have UpdateOptions, or CreateOptions if they create the object.
        """
        if self._options is None:
            self._options = self._make_options()
        return self._options

    async def as_version(self, version: GroupVersion) -> Versioned:
        """Both objects in another version of their kind. Callers must not change them. Raises ConversionFailed.

        They are cached until `replace` or `forget_versions`.
        """
        found = self._versions.get(version)
        if found is None:
            found = self._versions[version] = Versioned(
                await self._converted(self.obj, version), await self._converted(self.old, version)
            )
        return found

    async def as_requested(self) -> Versioned:
        """Both objects in the requested version. Raises ConversionFailed."""
        return await self.as_version(self.kind.group_version)

    async def replace(self, obj: JsonObject) -> None:
        """Sets `obj` to a changed object of any version of the kind, converted to the version of `obj` so far.

        Raises ConversionFailed.
        """
        assert self.obj is not None
        obj = await self._converted(obj, GroupVersion.parse(self.obj["apiVersion"])) or obj
        self.obj, self.replaced = obj, True
        self.forget_versions()

    def is_converted(self, version: GroupVersion) -> bool:
        """Whether a conversion webhook converts objects of `version` to the version of `obj`."""
        assert self.obj is not None
        other = version.api_version != self.obj["apiVersion"]
        return other and not self.resource.foreign_kind and self.resource.model.convert_all is not None

    async def _converted(self, obj: JsonObject | None, version: GroupVersion) -> JsonObject | None:
        if obj is None or obj["apiVersion"] == version.api_version or self.resource.foreign_kind:
            return obj
        model = self.resource.model
        if model.convert_all is not None:
            return (await model.convert_all([obj], version))[0]
        if self.resource.defined:  # fields that the other version's schema lacks stay until the object is stored
            return {**obj, "apiVersion": version.api_version}
        return model.convert(obj, GroupVersion.parse(obj["apiVersion"]), version)

    def forget_versions(self) -> None:
        """Drops the cached conversions. Call it after `obj` was changed in place."""
        if self._versions:
            self._versions = {}

    def warn(self, text: str) -> None:
        """Adds a Warning header to the answer, even if the request is refused."""
        self._context.warn((text,))

    def annotate(self, key: str, value: str, *, detail: bool = False) -> None:
        """Adds an annotation to the request's audit record, if there is one; the first value of a key stays.

        A `detail` is recorded only at the audit levels Request and RequestResponse.
        """
        self._annotate(key, value, detail)

    @property
    def deadline(self) -> float | None:
        """The time, by the event loop's clock, at which the client stops waiting; None without a timeout."""
        return self._context.deadline
