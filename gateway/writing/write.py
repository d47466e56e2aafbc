"""The way of a write: what create, update, patch and apply share, whoever asks for it.

The order is kube-apiserver's: decode (with defaults) → managed fields → admission (mutating) → strategy prepares →
validation → admission (validating) → transaction. Managed fields come first: fields that admission changes have no
owner. Every stage is a function in a module beside this one; verbs, subresources and controllers put them together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

from gateway.admission.record import Admission, Annotate, unrecorded
from gateway.apply.entries import read as read_managers
from gateway.apply.in_versions import ToVersion
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
from gateway.writing.converting import Conversions
from gateway.writing.offload import offloaded
from gateway.writing.options import WriteOptions, manager_of, options_document
from gateway.writing.unchanged_members import Kept
from storage.change import Finish, Put
from storage.instruments.timing import acting
from storage.protocol import Store


class Facet(Protocol):
    """A kind of which a subresource shows an object, and by which it is changed, as a Scale."""

    @property
    def endpoint(self) -> Endpoint:
        """The subresource."""

    def before(self, obj: JsonObject) -> JsonObject:
        """What an object (served version) is shown as, before a write. Raises StatusError."""

    def of(self, obj: JsonObject) -> JsonObject:
        """What an object (served version) is shown as. Raises StatusError."""

    def into(self, obj: JsonObject, shown: JsonObject) -> JsonObject:
        """An object anew that is shown so, once that is valid; the given one does not change. Raises StatusError."""


MakeOptions = Callable[[Operation], JsonObject | None]


_INVALID_MANAGERS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests"
)


@dataclass(slots=True)
class Write:
    """One write on its way."""

    endpoint: Endpoint
    options: WriteOptions
    attributes: WriteContext
    size: int = 0  # bytes of the body, or of what it changes if that is more
    conversions: Conversions | None = None  # of an update, where a webhook converts
    present: tuple[bytes, int] = (b"", 0)  # of an update, what is changed: its canonical value and revision
    shares: bool = False  # whether what a patch leaves as it is may be one value of the old and the new object
    kept: Kept | None = None  # what the two share
    via: Store | None = None  # a store of its own to write to, as that of a controller, which only its leader changes
    annotate: Annotate = unrecorded  # adds an annotation to the request's audit record
    patched: Callable[[Any], None] | None = None  # records what the patch was parsed to
    make_options: MakeOptions | None = None  # of a deletion: its options as a document
    admission: Admission | None = None  # of the attempt that is being made
    unadmitted: bool = False  # whether admission has looked at what this follows from, as at an eviction
    facet: Facet | None = None  # as what the write is asked for and admitted, where that is not the object itself

    @property
    def effort(self) -> int:
        """The size of the object times the strategy's weight: a measure of the time that its rules take."""
        return self.size * self.endpoint.strategy.weight

    @property
    def resource(self) -> Resource:
        """The resource that is written to."""
        return self.endpoint.resource

    @property
    def convert(self) -> ToVersion | None:
        """Converts an object to a version in which a manager owns fields; None where there is one version only."""
        return self.endpoint.convert if self.conversions is None else self.conversions

    @property
    def store(self) -> Store:
        """Where it is written."""
        return self.endpoint.store if self.via is None else self.via


class Written(NamedTuple):
    """What came of a write: the value and its revision (0 for a new object in a dry run).

    `unchanged` tells that nothing was written because there was nothing to change.
    """

    value: bytes
    revision: int
    created: bool = False
    unchanged: bool = False
    given: str = ""  # the resourceVersion that a dry run was given for a new object: it shows it
    link: str = ""  # the selfLink that a dry run was given: only storage drops it

    def at(self, revision: int, *, created: bool = False) -> Written:
        """The same of a revision, or as what came of a create."""
        return Written(self.value, revision, created or self.created, self.unchanged, self.given, self.link)


def begin(endpoint: Endpoint, request: Request, options: WriteOptions) -> Write:
    """Begins the write that a request asks for."""
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
    """Begins a write that no request asked for, such as a controller's, in the name of `user`.

    `verb` is what access would be asked for ("create", "update", "delete"); `manager` the field manager, the user's
    name where there is none (webhooks are told of none, as of a program that sends no option); `via` the store to write
    to, where it is not the endpoint's.
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
    """The mutating half of admission; the object that comes of it. Raises the first refusal."""
    endpoint = write.endpoint if write.facet is None else write.facet.endpoint
    admission = write.admission = Admission(
        write.attributes,
        operation,
        obj,
        old,
        resource=endpoint.resource,
        make_options=partial(_options, write.options, write.make_options, operation),  # not the write, which has this
        annotate=write.annotate,
    )
    admission.name = _admitted_name(write)
    managed = None if obj is None else obj.get("metadata", {}).get("managedFields")
    await endpoint.chain.mutate(admission)
    obj, guard = admission.obj, write.endpoint.guard
    if admission.replaced and obj is not None:
        _keep_managers(admission, obj, managed)
        write.size = max(write.size, len(dumps(obj)))  # what was made of it may be larger than what was sent
    if guard is not None and obj is not None:
        await guard.check(write.attributes.request, obj, old)
    return obj


def _keep_managers(admission: Admission, obj: JsonObject, before: list[JsonObject] | None) -> None:
    """Puts managed fields back that somebody has made unreadable, and warns of it."""
    metadata = obj.get("metadata") or {}
    try:
        read_managers(metadata.get("managedFields") or [])
    except ValueError as error:
        metadata["managedFields"] = before
        if not before:
            del metadata["managedFields"]
        admission.warn(f"{_INVALID_MANAGERS}: {error}")


def asked_outside(write: Write, operation: Operation) -> bool:
    """Whether somebody outside may be asked about a write, which is to happen once an attempt."""
    endpoint = write.endpoint if write.facet is None else write.facet.endpoint
    hooks = endpoint.services.admission.webhooks
    if hooks.mutating.idle and hooks.validating.idle:
        return False
    return any(sort.of(endpoint.resource, operation) for sort in (hooks.mutating, hooks.validating))


async def validate(write: Write, obj: JsonObject | None, old: JsonObject | None = None) -> None:
    """The validating half of admission, of what the mutating half was about. Raises the first refusal.

    `old` is the stored object where it is admitted as something else, whose managers are seen by the first half only.
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
    """The name that admission is told: a request for a collection names none."""
    return "" if write.attributes.request.info.verb == "deletecollection" else write.attributes.name


def _options(options: WriteOptions, make: MakeOptions | None, operation: Operation) -> JsonObject | None:
    if make is not None:
        return make(operation)
    return options_document(options, "CreateOptions" if operation is Operation.CREATE else "UpdateOptions")


def judge(write: Write, rule: Callable[[], list[FieldError]]) -> Sequence[FieldError]:
    """What a kind's rule finds, or as many errors as anybody is told.

    The rules of custom objects make errors that they do not tell, as of alternatives, and bound those that they tell.
    """
    return rule() if write.resource.custom else judged(rule)


def judged_beside(write: Write, found: list[FieldError], obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """What a kind's rule has found, and the rules that are declared beside it."""
    if not (rules := write.endpoint.strategy.declared):
        return found
    from gateway.validation.declared import errors_beside

    return errors_beside(rules, found, obj, old)


def invalid(write: Write, errors: Sequence[FieldError], obj: JsonObject) -> StatusError:
    """422 with the field errors of a write. A custom object's kind and group are what it says itself."""
    name, enabled = obj["metadata"].get("name"), write.endpoint.services.admission.release.gates.enabled
    errors = [error.as_told(enabled) for error in errors]
    if write.resource.custom:
        group = str(obj.get("apiVersion", "")).rpartition("/")[0]
        return status.invalid(group, str(obj.get("kind", "")), name or "", errors)
    group, kind, once = write.endpoint.kind_group, write.resource.kind, write.endpoint.strategy.tells_once
    return status.invalid(group, kind, name or write.attributes.name, errors, once=once)


async def encoded(write: Write, obj: JsonObject) -> bytes:
    """An object as etcd holds it, of the version in which writes see it.

    What admission has added to a custom object, and its schema does not know, was seen by the validating half and goes.
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
    except TypeError:  # its metadata is deeper than what can be encoded beside bytes
        return await _encoded(write, obj)


async def _encoded(write: Write, obj: JsonObject) -> bytes:
    written = write.endpoint.written
    return await written.value(obj, lambda stored: offloaded(write.size, written.encode, stored))


async def read_back(write: Write, value: bytes, *, created: bool = False) -> bytes:
    """A value about to be stored as it is read from storage.

    What a request `created` was decoded and defaulted as a whole; other objects may have got members that have defaults
    or nulls that do not stay, and the version that an object is stored in may have other defaults than its own.
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
    """The decision to store a value, under a lease if the object is one that goes by itself."""
    expiry, charge = write.endpoint.expiry, None if write.admission is None else write.admission.charge
    if expiry is None:
        return Put(value, 0, finish, charge=charge)
    return Put(value, await expiry.lease(), finish, expiry.another, charge)
