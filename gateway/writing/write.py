"""The record of a write, and the steps that create, update, patch, apply and delete share.

The order is kube-apiserver's: decode (with defaults) → managed fields → mutating admission → strategy prepares →
validation → validating admission → transaction. Managed fields come first: fields that admission changes have no
owner. Each step is a function in a module of this folder; verbs, subresources and controllers combine them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gateway.admission.record import Annotate, unrecorded
from gateway.apply.field_set import LEAF, FieldSet
from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.deadline import request_timeout
from gateway.http.exchange import Request
from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.kinds.metadata import now_text
from gateway.kinds.resource import Resource
from gateway.kinds.spec_templates import ANY_SPECIFICATION, Specification
from gateway.kinds.write_context import Warn, WriteContext, WriteOptions
from gateway.schema.decode import DecodeReport
from gateway.validation.field import FieldError, judged
from gateway.writing.offload import offloaded
from gateway.writing.options import manager_of
from gateway.writing.unchanged_members import UnchangedMembers
from storage.change import Charge, Finish, Put
from storage.instruments.trace import acting
from storage.protocol import Store

if TYPE_CHECKING:
    from gateway.quotas.room import Room


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


class Write(NamedTuple):
    """One write: what is to be done, and by what means. It never changes; each phase returns what it has found.

    An attempt of an update has a Write of its own, with its size and with a context that collects its warnings.
    """

    endpoint: Endpoint
    context: WriteContext
    size: int = 0  # bytes of the body, or of the stored object if that is larger
    via: Store | None = None  # replaces the endpoint's store, for example for a controller that has to be the leader
    annotate: Annotate = unrecorded  # adds an annotation to the request's audit record
    patched: Callable[[Any], None] | None = None  # records the parsed patch in the audit record
    facet: Facet | None = None  # set for a subresource of another kind, which admission then sees

    def attempt(self, size: int, warn: Warn) -> Write:
        """The Write of an attempt: with the size of the stored object if that is larger, and with its own warnings."""
        return Write(self.endpoint, self.context.telling(warn), max(size, self.size), *self[3:])

    @property
    def options(self) -> WriteOptions:
        """The options of the write."""
        return self.context.options

    @property
    def resource(self) -> Resource:
        """The resource that is written."""
        return self.endpoint.resource

    @property
    def store(self) -> Store:
        """The store that the write goes to."""
        return self.endpoint.store if self.via is None else self.via


class Sent(NamedTuple):
    """The object in a body: decoded and defaulted, with kind and apiVersion set."""

    obj: JsonObject
    size: int  # of the body in bytes
    unstored: Sequence[str] = ()  # members and paths that are not stored as they were sent: see empty_lists.unstored
    specification: Specification = ANY_SPECIFICATION  # of a new object
    emptied: FieldSet = LEAF


class Prepared(NamedTuple):
    """An object that has passed all phases before the transaction, and what these have found for it."""

    obj: JsonObject
    size: int
    context: WriteContext  # that of the last phase
    replaced: bool = False  # whether admission has replaced the object that was sent
    charge: Charge | None = None  # the quota charge, made in the transaction of the write
    kept: UnchangedMembers | None = None  # the members that it shares with the old object


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


def begin(
    endpoint: Endpoint,
    request: Request,
    options: WriteOptions,
    *,
    size: int = 0,
    name: str = "",
    sent: Sent | None = None,
    facet: Facet | None = None,
) -> Write:
    """The Write of a request. `name` is that of a new object, and `sent` is what its body has."""
    info = request.info
    name, deadline = info.name or name, None
    if request.query_string and (timeout := request.parameter("timeout")):
        longest = endpoint.services.settings.request_timeout
        deadline = asyncio.get_running_loop().time() + request_timeout(timeout, longest)
    if sent is not None:
        size = sent.size
    context = WriteContext(
        Attributes(request.user, info),
        endpoint.resource,
        info.namespace or (name if endpoint.strategy.in_its_own_namespace else ""),
        name,
        manager_of(options.manager, request.headers.get(b"user-agent", b"")),
        now_text(),
        options,
        deadline,
        *((ANY_SPECIFICATION, ()) if sent is None else (sent.specification, sent.unstored)),
        release=endpoint.services.admission.release,
        warn=request.warnings.extend,
    )
    if (audit := request.audit) is None:
        return Write(endpoint, context, size, facet=facet)
    return Write(endpoint, context, size, None, audit.annotate, audit.patched, facet)


def as_admitted(write: Write, replaced: bool) -> Write:
    """The Write after mutating admission. Of an object that a plug-in has `replaced`, nothing is known to be unstored:
    as in Go, it was decoded again.
    """
    if not (replaced and write.context.unstored):
        return write
    return write._replace(context=write.context._replace(unstored=()))


_STRICT = WriteOptions(validation="Strict")


def begin_as(
    endpoint: Endpoint,
    user: User,
    verb: str,
    namespace: str,
    name: str,
    manager: str = "",
    *,
    via: Store | None = None,
    options: WriteOptions = _STRICT,
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
    who = Attributes(user, info)
    release = endpoint.services.admission.release
    context = WriteContext(who, resource, namespace, name, manager or user.name, now_text(), options, release=release)
    return Write(endpoint, context, via=via)


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
    from gateway.validation.declared_rules import errors_beside

    return errors_beside(rules, found, obj, old)


def invalid(write: Write, errors: Sequence[FieldError], obj: JsonObject) -> StatusError:
    """The error 422 with the field errors of a write. For a custom object it has the kind and group that the object
    itself names.
    """
    name, enabled = obj["metadata"].get("name"), write.context.enabled
    errors = [error.as_told(enabled) for error in errors]
    if write.resource.custom:
        group = str(obj.get("apiVersion", "")).rpartition("/")[0]
        return status.invalid(group, str(obj.get("kind", "")), name or "", errors)
    group, kind, once = write.endpoint.kind_group, write.resource.kind, write.endpoint.strategy.tells_once
    return status.invalid(group, kind, name or write.context.name, errors, once=once)


async def encoded(write: Write, prepared: Prepared) -> bytes:
    """Encodes an object for etcd.

    Fields that admission has added to a custom object, and that its schema does not have, are dropped here: validating
    admission has still seen them.
    """
    obj, kept = prepared.obj, prepared.kept
    if prepared.replaced and write.resource.custom:
        obj = write.resource.model_version.decode(obj, DecodeReport())
    try:
        spliced = prepared.context.spliced(obj, write.endpoint.written.type) if kept is None else kept.spliced(obj)
        if spliced is not obj:
            return await _encoded(write, spliced, prepared.size)
    except TypeError:  # the encoder limits the nesting of objects that contain encoded bytes
        pass
    return await _encoded(write, obj, prepared.size)


async def _encoded(write: Write, obj: JsonObject, size: int) -> bytes:
    written = write.endpoint.written
    return await written.value(obj, lambda stored: offloaded(size, written.encode, stored))


def _with_room(
    write: Write, room: Room, key: bytes, before: bytes | None, value: bytes, charge: Charge | None
) -> Charge:
    from gateway.quotas.room import Roomy

    resource, name = write.resource, key.rpartition(b"/")[2].decode()
    refuse = partial(status.forbidden, resource.group, resource.resource, name)
    return Roomy(room, key, before is None, len(value) - len(before or b""), refuse, charge)


async def read_back(write: Write, value: bytes, size: int, *, created: bool = False) -> bytes:
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
        read = await offloaded(size, endpoint.cache.spec.canonicalise, value)
    if read == value and not write.options.dry_run:
        settled.add(value)
    return read


async def put(
    write: Write, key: bytes, before: bytes | None, value: bytes, charge: Charge | None, finish: Finish | None
) -> Put:
    """The decision to store a value in place of the one `before`; under an etcd lease if objects of the kind expire,
    such as events.
    """
    expiry, room = write.endpoint.expiry, write.endpoint.services.room
    if room is not None and room.usage is not None and write.via is None:
        charge = _with_room(write, room, key, before, value, charge)
    if expiry is None:
        return Put(value, 0, finish, charge=charge)
    return Put(value, await expiry.lease(), finish, expiry.another, charge)
