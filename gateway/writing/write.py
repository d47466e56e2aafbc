"""The record of a write, and the steps that create, update, patch, apply and delete share.

The order is kube-apiserver's: decode (with defaults) → managed fields → mutating admission → strategy prepares →
validation → validating admission → transaction. Managed fields come first: fields that admission changes have no
owner. Each step is a function in a module of this folder; verbs, subresources and controllers combine them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from gateway.admission.record import Admission, Annotate, unrecorded
from gateway.apply.entries import read as read_managers
from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.deadline import request_timeout
from gateway.http.exchange import Request
from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError
from gateway.http.user import User
from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.attributes import Attributes, Operation
from gateway.kinds.metadata import now_text
from gateway.kinds.resource import Resource
from gateway.kinds.write_context import WriteContext
from gateway.schema.decode import DecodeReport
from gateway.validation.field import FieldError, judged
from gateway.writing.offload import offloaded
from gateway.writing.options import WriteOptions, manager_of, options_document
from gateway.writing.unchanged_members import Kept
from storage.change import Finish, Put
from storage.instruments.timing import acting
from storage.protocol import Store


class Facet(Protocol):
    """The kind in which a subresource shows and changes an object, such as Scale."""

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint of the subresource."""

    def before(self, obj: JsonObject) -> JsonObject:
        """An object (served version) in the facet's kind, before a write. Raises StatusError."""

    def of(self, obj: JsonObject) -> JsonObject:
        """An object (served version) in the facet's kind. Raises StatusError."""

    def into(self, obj: JsonObject, shown: JsonObject) -> JsonObject:
        """Validates `shown`, of the facet's kind, and returns a copy of `obj` that is changed accordingly. Raises
        StatusError.
        """


MakeOptions = Callable[[Operation], JsonObject | None]


_INVALID_MANAGERS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests"
)


@dataclass(slots=True)
class Write:
    """One write in progress."""

    endpoint: Endpoint
    options: WriteOptions
    attributes: WriteContext
    size: int = 0  # bytes of the body, or of the stored object if that is larger
    kept: Kept | None = None  # the shared members
    via: Store | None = None  # replaces the endpoint's store, for example for a controller that has to be the leader
    annotate: Annotate = unrecorded  # adds an annotation to the request's audit record
    patched: Callable[[Any], None] | None = None  # records the parsed patch in the audit record
    make_options: MakeOptions | None = None  # makes the JSON of a deletion's options, for admission
    admission: Admission | None = None  # the admission of the current attempt
    unadmitted: bool = False  # skips admission, because it has run for the cause of this write, such as an eviction
    facet: Facet | None = None  # set for a subresource of another kind, which admission then sees

    @property
    def effort(self) -> int:
        """The size of the object times the strategy's weight: estimates the time that its validation takes."""
        return self.size * self.endpoint.strategy.weight

    @property
    def resource(self) -> Resource:
        """The resource that is written."""
        return self.endpoint.resource

    @property
    def store(self) -> Store:
        """The store that the write goes to."""
        return self.endpoint.store if self.via is None else self.via


class Written(NamedTuple):
    """The result of a write: the stored value and its revision (0 for a new object in a dry run).

    `unchanged`: nothing was stored, because the object did not change.
    """

    value: bytes
    revision: int
    created: bool = False
    unchanged: bool = False
    given: str = ""  # the resourceVersion that a client sent in a dry run of a create; the answer shows it
    link: str = ""  # the selfLink that a client sent in a dry run; the answer shows it, since only storage drops it

    def at(self, revision: int, *, created: bool = False) -> Written:
        """The same result with a revision; with `created`, as that of a create."""
        return Written(self.value, revision, created or self.created, self.unchanged, self.given, self.link)


def begin(endpoint: Endpoint, request: Request, options: WriteOptions) -> Write:
    """The Write of a request."""
    info = request.info
    attributes = WriteContext(
        Attributes(request.user, info),
        endpoint.resource,
        info.namespace,
        info.name,
        manager_of(options.manager, request.headers.get(b"user-agent", b"")),
        now_text(),
        options.dry_run,
        request.warnings,
    )
    if request.query_string and (timeout := request.parameter("timeout")):
        attributes.deadline = asyncio.get_running_loop().time() + request_timeout(
            timeout, endpoint.services.settings.request_timeout
        )
    write = Write(endpoint, options, attributes)
    if request.audit is not None:
        write.annotate, write.patched = request.audit.annotate, request.audit.patched
    return write


def begin_as(
    endpoint: Endpoint,
    user: User,
    verb: str,
    namespace: str,
    name: str,
    manager: str = "",
    *,
    via: Store | None = None,
) -> Write:
    """The Write of `user` without a request, such as a controller's.

    `verb` is the verb for authorization ("create", "update", "delete"). `manager` is the field manager; "" means the
    user's name. (It does not appear in the options that webhooks see.) `via` replaces the endpoint's store.
    """
    acting.set(user.name)
    resource = endpoint.resource
    info = RequestInfo(
        verb,
        "",
        is_resource=True,
        group=resource.group,
        version=resource.version,
        resource=resource.resource,
        subresource=resource.subresource,
        namespace=namespace,
        name=name,
    )
    attributes = WriteContext(Attributes(user, info), resource, namespace, name, manager or user.name, now_text())
    return Write(endpoint, WriteOptions(validation="Strict"), attributes, via=via)


async def mutate(
    write: Write, operation: Operation, obj: JsonObject | None, old: JsonObject | None
) -> JsonObject | None:
    """Runs mutating admission; returns the resulting object. Raises the first refusal, a StatusError."""
    endpoint = write.endpoint if write.facet is None else write.facet.endpoint
    admission = write.admission = Admission(
        write.attributes,
        operation,
        obj,
        old,
        resource=endpoint.resource,
        make_options=partial(_options, write.options, write.make_options, operation),  # without `write`: no cycle
        annotate=write.annotate,
    )
    admission.name = _admitted_name(write)
    managed = None if obj is None else obj.get("metadata", {}).get("managedFields")
    await endpoint.chain.mutate(admission)
    obj, guard = admission.obj, write.endpoint.guard
    if admission.replaced and obj is not None:
        _keep_managers(admission, obj, managed)
        write.size = max(write.size, len(dumps(obj)))  # admission may have made the object larger
    if guard is not None and obj is not None:
        await guard.check(write.attributes.request, obj, old)
    return obj


def _keep_managers(admission: Admission, obj: JsonObject, before: list[JsonObject] | None) -> None:
    """Restores managedFields that admission has made invalid, with a warning."""
    metadata = obj.get("metadata") or {}
    try:
        read_managers(metadata.get("managedFields") or [])
    except ValueError as error:
        metadata["managedFields"] = before
        if not before:
            del metadata["managedFields"]
        admission.warn(f"{_INVALID_MANAGERS}: {error}")


def asked_outside(write: Write, operation: Operation) -> bool:
    """Whether an admission webhook may be called for a write. A webhook must be called only once for each attempt."""
    endpoint = write.endpoint if write.facet is None else write.facet.endpoint
    hooks = endpoint.services.admission.webhooks
    if hooks.mutating.idle and hooks.validating.idle:
        return False
    return any(sort.of(endpoint.resource, operation) for sort in (hooks.mutating, hooks.validating))


async def validate(write: Write, obj: JsonObject | None, old: JsonObject | None = None) -> None:
    """Runs validating admission, after `mutate`, with the same Admission. Raises the first refusal, a StatusError.

    `old` is the stored object; it counts only with a facet: validating admission then sees it without managedFields.
    """
    admission = write.admission
    assert admission is not None
    admission.obj, admission.name = obj, _admitted_name(write)
    endpoint, facet = write.endpoint, write.facet
    if facet is not None and obj is not None:
        if old is not None:
            admission.old = facet.of(endpoint.served(old))
        endpoint, admission.obj = facet.endpoint, facet.of(endpoint.served(obj))
    await endpoint.chain.validate(admission)


def _admitted_name(write: Write) -> str:
    """The object's name for admission; "" for deletecollection."""
    return "" if write.attributes.request.info.verb == "deletecollection" else write.attributes.name


def _options(options: WriteOptions, make: MakeOptions | None, operation: Operation) -> JsonObject | None:
    if make is not None:
        return make(operation)
    return options_document(options, "CreateOptions" if operation is Operation.CREATE else "UpdateOptions")


def judge(write: Write, rule: Callable[[], list[FieldError]]) -> Sequence[FieldError]:
    """Runs a validation rule of a kind; returns its errors, cut to the number that an answer shows.

    The rules of custom objects bound their errors themselves, since they also make errors that are dropped later, such
    as those of alternatives.
    """
    return rule() if write.resource.custom else judged(rule)


def judged_beside(write: Write, found: list[FieldError], obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """The errors of a kind's rule together with those of its declarative validation."""
    if not (rules := write.endpoint.strategy.declared):
        return found
    from gateway.validation.declared import errors_beside

    return errors_beside(rules, found, obj, old)


def invalid(write: Write, errors: Sequence[FieldError], obj: JsonObject) -> StatusError:
    """The error 422 with the field errors of a write. For a custom object it has the kind and group that the object
    itself names.
    """
    name, enabled = obj["metadata"].get("name"), write.endpoint.services.admission.release.gates.enabled
    errors = [error.as_told(enabled) for error in errors]
    if write.resource.custom:
        group = str(obj.get("apiVersion", "")).rpartition("/")[0]
        return status.invalid(group, str(obj.get("kind", "")), name or "", errors)
    group, kind, once = write.endpoint.kind_group, write.resource.kind, write.endpoint.strategy.tells_once
    return status.invalid(group, kind, name or write.attributes.name, errors, once=once)


async def encoded(write: Write, obj: JsonObject) -> bytes:
    """Encodes an object for etcd.

    Fields that admission has added to a custom object, and that its schema does not have, are dropped here: validating
    admission has still seen them.
    """
    if write.admission is not None and write.admission.replaced and write.resource.custom:
        obj = write.resource.model_version.decode(obj, DecodeReport())
    specification, kept = write.attributes.specification, write.kept
    if specification.template is None and kept is None:
        return await _encoded(write, obj)
    try:
        if specification.template is not None:
            return await _encoded(write, specification.spliced(obj, write.endpoint.written.type))
        return await _encoded(write, obj if kept is None else kept.spliced(obj))
    except TypeError:  # the encoder limits the nesting of objects that contain encoded bytes
        return await _encoded(write, obj)


async def _encoded(write: Write, obj: JsonObject) -> bytes:
    written = write.endpoint.written
    return await written.value(obj, lambda stored: offloaded(write.size, written.encode, stored))


async def read_back(write: Write, value: bytes, *, created: bool = False) -> bytes:
    """A value that is about to be stored, in the form in which it will be read from storage.

    An object that a request has `created` was decoded and defaulted as a whole, so it usually has that form. Other
    objects may have new members that need defaults, or nulls that are dropped. The storage version may have other
    defaults than the served one.
    """
    endpoint, resource = write.endpoint, write.resource
    settled = resource.model.settled
    if settled is None:
        return value
    read = value
    if not created or endpoint.strategy.reread or resource.api_version != resource.storage_version:
        read = await offloaded(write.size, endpoint.cache.spec.canonicalise, value)
    if read == value and not write.options.dry_run:
        settled.add(value)
    return read


async def put(write: Write, value: bytes, finish: Finish | None) -> Put:
    """The decision to store a value; under an etcd lease if objects of the kind expire, such as events."""
    expiry, charge = write.endpoint.expiry, None if write.admission is None else write.admission.charge
    if expiry is None:
        return Put(value, 0, finish, charge=charge)
    return Put(value, await expiry.lease(), finish, expiry.another, charge)
