"""The record of one admission, as apiserver's `admission.Attributes`.

Each attempt of a write begins with one record for each half of admission. So does an eviction, and the deletion that it
makes. Plug-ins, policies, webhooks and quotas see this and nothing else of a request; they return the next record.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersion, GroupVersionKind, GroupVersionResource
from gateway.kinds.resource import Resource
from gateway.kinds.write_context import WriteContext
from gateway.memo import Once
from storage.change import Charge


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


class Admission(NamedTuple):
    """One admission: an operation on one object, and what plug-ins have found so far. It never changes.

    A plug-in that has found something returns the record that follows (`changed`, `replacing`, `charged`, `keeping`);
    the chain passes that to the next plug-in. No plug-in changes `obj` or `old` in place: `changed` takes a copy that
    shares what stays as it is (tests/unchanging_records.py).

    `obj` is the new object: None for DELETE, the options object for CONNECT. `old` is the stored object: None for
    CREATE and CONNECT. Both have kind and apiVersion. Custom kinds, and subresources with a kind of their own (Scale,
    Eviction), are in the requested version. All others are in the storage version, as in-tree plug-ins expect.
    `as_version` converts both to the requested version (that of `kind`) or to another one. In the validating half `obj`
    is as it will be stored.

    `name` is empty before a name is generated, and for the objects of a deletecollection. `resource` is the admitted
    one, which may not be the written one.
    """

    context: WriteContext
    operation: Operation
    obj: JsonObject | None
    old: JsonObject | None
    name: str
    resource: Resource
    versions: dict[GroupVersion, Versioned]  # a cache, of `as_version` alone
    make_options: Callable[[], JsonObject | None] = _no_options
    audit: Annotate = unrecorded
    reinvoke: bool = False  # a webhook or policy has changed the object: the mutating half runs once more
    reinvoked: bool = False  # this is that second run
    replaced: bool = False  # a plug-in has replaced the object that was sent
    kept: Mapping[str, Any] = MappingProxyType(
        {}
    )  # the results of plug-ins in the first run that the second run needs, by the plug-ins' names
    charge: Charge | None = None  # the quota charge, made in the transaction of the write

    def validating(self, context: WriteContext, obj: JsonObject | None, old: JsonObject | None, name: str) -> Admission:
        """The record of the validating half, for the object as it will be stored."""
        return Admission(context, self.operation, obj, old, name, self.resource, {}, *self[7:])

    def changed(self, obj: JsonObject) -> Admission:
        """The record with a changed copy of the object, in the version of the object so far.

        The copy may share parts with that object. What is new in it must belong to it alone: the strategy of the kind
        may change it.
        """
        # takes a third of the time of _replace
        return Admission(self.context, self.operation, obj, self.old, self.name, self.resource, {}, *self[7:])

    def with_spec(self, **members: Any) -> Admission:
        """The record with other members in the spec of a copy of the object."""
        assert self.obj is not None
        return self.changed({**self.obj, "spec": {**(self.obj.get("spec") or {}), **members}})

    async def replacing(self, obj: JsonObject) -> Admission:
        """The record with a changed object of any version of the kind, converted to the version of `obj` so far.

        Raises ConversionFailed.
        """
        assert self.obj is not None
        obj = await self._converted(obj, GroupVersion.parse(self.obj["apiVersion"])) or obj
        return self._replace(obj=obj, replaced=True, versions={})

    def charged(self, charge: Charge) -> Admission:
        """The record with a charge to quotas."""
        return self._replace(charge=charge)

    def keeping(self, plugin: str, kept: object, *, reinvoke: bool) -> Admission:
        """The record with what a plug-in wants to know in its second run. With `reinvoke` there will be one."""
        return self._replace(kept={**self.kept, plugin: kept}, reinvoke=self.reinvoke or reinvoke)

    def second_run(self) -> Admission:
        """The record of the second run."""
        return self._replace(reinvoked=True)

    @property
    def namespace(self) -> str:
        """The request's namespace; in a request for one Namespace that Namespace's name."""
        return self.context.namespace

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
        return self.context.user

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be stored, sent or charged."""
        return self.context.dry_run

    @property
    def now(self) -> str:
        """RFC 3339 time of the write, seconds."""
        return self.context.now

    @property
    def of_spec(self) -> Once:
        """For results that depend on the spec of a new object alone. It does not refer to the admission."""
        return self.context.of_spec

    @property
    def options(self) -> JsonObject | None:
        """CreateOptions, UpdateOptions or DeleteOptions of meta.k8s.io/v1, as the client sent them; None for CONNECT.

        A patch and an apply have UpdateOptions, or CreateOptions if they create the object.
        """
        return self.make_options()

    async def as_version(self, version: GroupVersion) -> Versioned:
        """Both objects in another version of their kind. Callers must not change them. Raises ConversionFailed."""
        found = self.versions.get(version)
        if found is None:
            found = self.versions[version] = Versioned(
                await self._converted(self.obj, version), await self._converted(self.old, version)
            )
        return found

    async def as_requested(self) -> Versioned:
        """Both objects in the requested version. Raises ConversionFailed."""
        return await self.as_version(self.kind.group_version)

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

    def warn(self, text: str) -> None:
        """Adds a Warning header to the answer, even if the request is refused."""
        self.context.warn((text,))

    def annotate(self, key: str, value: str, *, detail: bool = False) -> None:
        """Adds an annotation to the request's audit record, if there is one; the first value of a key stays.

        A `detail` is recorded only at the audit levels Request and RequestResponse.
        """
        self.audit(key, value, detail)

    @property
    def deadline(self) -> float | None:
        """The time, by the event loop's clock, at which the client stops waiting; None without a timeout."""
        return self.context.deadline


def record_of(
    context: WriteContext,
    operation: Operation,
    obj: JsonObject | None,
    old: JsonObject | None,
    resource: Resource,
    name: str,
    make_options: Callable[[], JsonObject | None] = _no_options,
    annotate: Annotate = unrecorded,
) -> Admission:
    """The record with which a mutating half begins. `make_options` makes `options`."""
    return Admission(context, operation, obj, old, name, resource, {}, make_options, annotate)


Found = Admission | Awaitable[Admission | None] | None
"""What a plug-in returns: the record that follows, or None for the same one; or an awaitable of that, if it needs I/O
or a long computation.
"""
