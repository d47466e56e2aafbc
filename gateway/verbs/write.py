"""The way of a write: what create, update, patch and apply share.

The order is kube-apiserver's: decode (with defaults) → managed fields → admission (mutating) → strategy prepares →
validation → admission (validating) → transaction. Managed fields come first: what admission changes has no owner.
Every stage is a function here or in a module beside this one; a verb puts them together.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateway.access.authorization import forbidden
from gateway.admission.chain import Operation, review
from gateway.apply import keep_timestamps, update_managed
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds.resource import Resource
from gateway.kinds.strategy import WriteContext
from gateway.schema.empty_lists import null_empty_lists
from gateway.schema.encode import encode_answer, encode_stored
from gateway.validation.field import FieldError
from gateway.validation.names import name_is_path_segment
from gateway.validation.objectmeta import validate_object_meta, validate_object_meta_update
from gateway.verbs import metadata
from gateway.verbs.conflicts import already_there, check_uid, check_version
from gateway.verbs.deletion import finalized
from gateway.verbs.hooks import WriteHooks
from gateway.verbs.offload import offloaded
from gateway.verbs.options import WriteOptions, manager_of
from gateway.verbs.scope import Scope, scope_of
from storage.entry import with_version
from storage.errors import Conflict, KeyExists, StoredObject

if TYPE_CHECKING:
    from gateway.server import Gateway

GENERATED_NAME_ATTEMPTS = 8


@dataclass(slots=True)
class Write:
    """One write request on its way."""

    gateway: Gateway
    request: Request
    scope: Scope
    options: WriteOptions
    manager: str
    context: WriteContext
    size: int = 0  # bytes of the body, or of what it changes if that is more

    @property
    def resource(self) -> Resource:
        return self.scope.resource


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a write: the value and its revision (0 for a new object in a dry run).

    `unchanged` tells that nothing was written because there was nothing to change.
    """

    value: bytes
    revision: int
    created: bool = False
    unchanged: bool = False
    given: str = ""  # the resourceVersion that a dry run was given for a new object: it shows it
    link: str = ""  # the selfLink that a dry run was given: only storage drops it


# Makes the new object (served version, managed fields set) of the present one (with its resourceVersion), None if none
MakeObject = Callable[[JsonObject | None], JsonObject]


def begin(gateway: Gateway, request: Request, resource: Resource, options: WriteOptions) -> Write:
    """Gathers what the stages need to know of a request."""
    user, info = request.user, request.info
    context = WriteContext(
        resource,
        info.namespace,
        info.name,
        user.name,
        user.groups,
        resource.subresource,
        metadata.now_text(),
        options.dry_run,
        request.warnings,
        user.uid,
        user.extra,
    )
    manager = manager_of(options.manager, request.headers.get(b"user-agent", b""))
    return Write(gateway, request, scope_of(gateway, resource), options, manager, context)


def track_fields(write: Write, new: JsonObject, old: JsonObject | None) -> None:
    """Records in `new`'s managedFields what this write changes; both objects are in the served version.

    Whatever depends on `new` as it was sent is then settled: its empty lists become what storage makes of them.
    """
    resource = write.resource
    if write.scope.to_storage is not None:
        _show_as_stored(write.scope, new)
    update_managed(
        new,
        old,
        write.scope.type,
        manager=write.manager,
        api_version=resource.api_version,
        subresource=resource.subresource,
        now=write.context.now,
        reset=write.scope.strategy.reset_fields,
        convert=write.scope.convert,
    )
    null_empty_lists(write.scope.type, new)


def _show_as_stored(scope: Scope, new: JsonObject) -> None:
    """Adds, in place, what the trip to the storage version and back adds: annotations for what has no field."""
    assert scope.to_storage is not None
    annotations = scope.served(scope.to_storage(new))["metadata"].get("annotations")
    if annotations:
        new["metadata"]["annotations"] = annotations


async def create_object(write: Write, obj: JsonObject) -> Written:
    """Stores a new object (served version); raises StatusError 409 AlreadyExists, 422, 403…"""
    scope = write.scope
    if scope.to_storage is not None:
        obj = scope.to_storage(obj)
    await admit_create(write, obj)
    meta = obj["metadata"]
    if meta.get("name") or not meta.get("generateName"):
        return await _store_new(write, obj)
    pristine = dumps(obj)
    for attempt in range(1, GENERATED_NAME_ATTEMPTS + 1):
        try:
            return await _store_new(write, obj if attempt == 1 else loads(pristine))
        except StatusError as error:
            if error.reason != "AlreadyExists" or attempt == GENERATED_NAME_ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


async def admit_create(write: Write, obj: JsonObject) -> None:
    """The mutating half of admission for an object to be created."""
    scope, context = write.scope, write.context
    await review(scope.chain.mutating[Operation.CREATE], obj, None, context, scope.lookup)
    metadata.drop_duplicate_owners(obj["metadata"], context.warnings, after_admission=True)


async def _store_new(write: Write, obj: JsonObject) -> Written:
    meta = obj["metadata"]
    metadata.fill_system_fields(meta, write.context.now)
    async with allocated(write, obj, None):
        await prepare_new(write, obj)
        if not write.options.dry_run and metadata.carries_version(meta):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        return await insert(write, obj)


async def prepare_new(write: Write, obj: JsonObject) -> None:
    """Fills in metadata, then the strategy's turn, validation and the validating half of admission."""
    scope = write.scope
    await offloaded(write.size, lambda: _prepare_new(write, obj))
    await review(scope.chain.validating[Operation.CREATE], obj, None, write.context, scope.lookup)


def _prepare_new(write: Write, obj: JsonObject) -> None:
    scope, context = write.scope, write.context
    strategy, meta = scope.strategy, obj["metadata"]
    metadata.match_namespace(meta, metadata.expected_namespace(scope.resource, context.namespace))
    context.name = meta.get("name", "")
    strategy.prepare_for_create(obj, context)
    context.name = meta.get("name", "")
    errors = validate_object_meta(meta, scope.resource.namespaced, strategy.validate_name)
    errors += strategy.validate(obj, context)
    if errors:
        raise _invalid(write, errors)
    if strategy.warnings_on_create is not None:
        context.warnings += strategy.warnings_on_create(obj, context)
    if strategy.canonicalize is not None:
        strategy.canonicalize(obj)


async def insert(write: Write, obj: JsonObject) -> Written:
    """The transaction of a create, or what stands for it in a dry run; raises StatusError 409 AlreadyExists."""
    try:
        return await _insert(write, obj)
    except KeyExists as error:
        raise already_there(write, obj, error.current) from None


async def _insert(write: Write, obj: JsonObject) -> Written:
    resource, store = write.resource, write.gateway.store
    key = write.scope.key(write.context.namespace, obj["metadata"]["name"])
    value = await offloaded(write.size, lambda: encode_stored(obj, resource.kind, resource.storage_version))
    if not write.options.dry_run:
        return Written(value, await store.create(key, value, await _lease(write)), created=True)
    present = await store.get(key)
    if present is not None:
        raise KeyExists(present)
    meta = obj["metadata"]
    return Written(value, 0, created=True, given=meta.get("resourceVersion", ""), link=meta.get("selfLink", ""))


async def update_object(write: Write, make: MakeObject, *, uid: str = "", allow_create: bool = False) -> Written:
    """Reads the present object, makes the new one of it and stores that; repeats when somebody else was faster.

    It starts from the watch cache; before an error that the cache's staleness may have caused is answered, the object
    is read again from etcd, and so it is before a write is left out because it changes nothing. `uid` is a
    precondition. Raises StatusError.
    """
    context, store = write.context, write.gateway.store
    key = write.scope.key(context.namespace, context.name)
    current = store.cached(key)
    fresh = current is None
    if current is None:
        current = await store.get(key)
    warned = len(context.warnings)
    while True:
        written: Written | None = None
        try:
            written = await _attempt(write, key, current, make, uid, allow_create)
        except StatusError:
            if fresh:
                raise
        except (Conflict, KeyExists) as lost:
            current, fresh = lost.current, True
            del context.warnings[warned:]
            continue
        if written is not None and (fresh or not written.unchanged):
            return written
        latest, fresh = await store.latest(key), True
        if written is not None and latest is not None and current is not None and latest.revision == current.revision:
            return written
        current = latest
        del context.warnings[warned:]


async def _attempt(
    write: Write, key: bytes, current: StoredObject | None, make: MakeObject, uid: str, allow_create: bool
) -> Written:
    scope, context = write.scope, write.context
    if current is None:
        return await _create_instead(write, key, make, uid, allow_create)
    write.size = max(write.size, len(current.value))

    def changed() -> tuple[JsonObject, JsonObject | None]:
        old = scope.parse(current.value)
        old["metadata"]["resourceVersion"] = str(current.revision)
        check_uid(write, key, uid, old["metadata"].get("uid", ""))
        served = scope.served(old)
        new = make(served)
        if new is served:
            return old, None
        return old, new if scope.to_storage is None else scope.to_storage(new)

    old, obj = await offloaded(write.size, changed)
    if obj is None:
        return Written(current.value, current.revision, unchanged=True)
    await review(scope.chain.mutating[Operation.UPDATE], obj, old, context, scope.lookup)
    metadata.drop_duplicate_owners(obj["metadata"], context.warnings, after_admission=True)
    check_version(write, obj["metadata"], current.revision)
    async with allocated(write, obj, old):
        await prepare_update(write, obj, old)
        return await _replace(write, key, current, obj, old)


async def prepare_update(write: Write, obj: JsonObject, old: JsonObject) -> None:
    """Fills in metadata, then the strategy's turn, validation and the validating half of admission."""
    scope = write.scope
    await offloaded(write.size, lambda: _prepare_update(write, obj, old))
    await review(scope.chain.validating[Operation.UPDATE], obj, old, write.context, scope.lookup)


def _prepare_update(write: Write, obj: JsonObject, old: JsonObject) -> None:
    scope, context = write.scope, write.context
    strategy, meta, old_meta = scope.strategy, obj["metadata"], old["metadata"]
    metadata.match_namespace(meta, metadata.expected_namespace(scope.resource, context.namespace))
    metadata.keep_generation(meta, old_meta)
    strategy.prepare_for_update(obj, old, context)
    metadata.carry_over(meta, old_meta)
    errors = validate_object_meta(meta, scope.resource.namespaced, name_is_path_segment, standard_finalizers=False)
    errors += validate_object_meta_update(meta, old_meta, built_in=strategy.rechecks_metadata)
    errors += strategy.validate_update(obj, old, context)
    if errors:
        raise _invalid(write, errors)
    if strategy.warnings_on_update is not None:
        context.warnings += strategy.warnings_on_update(obj, old, context)
    if strategy.canonicalize is not None:
        strategy.canonicalize(obj)
    keep_timestamps(obj, old)


async def _replace(write: Write, key: bytes, current: StoredObject, obj: JsonObject, old: JsonObject) -> Written:
    """The transaction of an update: none when nothing changed, a deletion when the last finalizer went."""
    resource, store, dry_run = write.resource, write.gateway.store, write.options.dry_run
    link = obj["metadata"].pop("selfLink", "")
    if finalized(resource, obj, old):
        if not dry_run:
            await store.delete(key, current.revision)
            if write.scope.hooks is not None:
                await write.scope.hooks.after_delete(old, write.context)
        return Written(encode_stored(obj, resource.kind, resource.storage_version), current.revision)
    if obj == old:
        return Written(current.value, current.revision, unchanged=True, link=link if dry_run else "")
    value = await offloaded(write.size, lambda: encode_stored(obj, resource.kind, resource.storage_version))
    if dry_run:
        return Written(value, current.revision, link=link)
    return Written(value, await store.update(key, value, current.revision, await _lease(write)))


async def _lease(write: Write) -> int:
    """The lease that the object lives under, 0 for those that stay."""
    expiry = write.scope.expiry
    return 0 if expiry is None else await expiry.lease()


async def _create_instead(write: Write, key: bytes, make: MakeObject, uid: str, allow_create: bool) -> Written:
    """An update or apply of what does not exist: a create where that is allowed, else StatusError 404."""
    context, resource = write.context, write.resource
    if not allow_create:
        raise status.not_found(resource.group, resource.resource, context.name)
    check_uid(write, key, uid, "")
    obj = await offloaded(write.size, lambda: make(None))
    if write.scope.to_storage is not None:
        obj = write.scope.to_storage(obj)
    await admit_create(write, obj)
    meta = obj["metadata"]
    metadata.resource_version(meta)
    metadata.fill_system_fields(meta, context.now)
    async with allocated(write, obj, None):
        await prepare_new(write, obj)
        _authorize_create(write)
        return await _insert(write, obj)


def _authorize_create(write: Write) -> None:
    """Who creates by an update or an apply must be allowed to create too. Raises StatusError 403."""
    request = write.request
    info = replace(request.info, verb="create")
    reason = write.gateway.authorizer.authorize(request.user, info)
    if reason is not None:
        raise forbidden(request.user, info, reason)


def allocated(write: Write, obj: JsonObject, old: JsonObject | None) -> AbstractAsyncContextManager[None]:
    """Runs the kind's hooks around a write: what they allocated is kept if it goes through, else given back.

    When it is not known whether the write went through, it is kept too: repair finds out.
    """
    hooks = write.scope.hooks
    return _NOTHING_ALLOCATED if hooks is None else _allocated(hooks, write, obj, old)


_NOTHING_ALLOCATED = nullcontext()


@asynccontextmanager
async def _allocated(hooks: WriteHooks, write: Write, obj: JsonObject, old: JsonObject | None) -> AsyncIterator[None]:
    if old is None:
        finish = await hooks.begin_create(obj, write.context)
    else:
        finish = await hooks.begin_update(obj, old, write.context)
    try:
        yield
    except (StatusError, Conflict, KeyExists):
        await finish(False)
        raise
    await finish(True)


def _invalid(write: Write, errors: list[FieldError]) -> StatusError:
    return status.invalid(write.scope.kind_group, write.resource.kind, write.context.name, errors)


def respond(write: Write, written: Written) -> Response:
    """The answer that shows what was written: 201 for what is new, else 200."""
    return Response(201 if written.created else 200, body_of(write, written))


def body_of(write: Write, written: Written) -> bytes:
    """The object as JSON in the served version, with its resourceVersion."""
    scope = write.scope
    if scope.from_storage is None and not written.given and not written.link:
        return with_version(written.value, written.revision)
    obj = loads(written.value)
    if scope.from_storage is not None:
        obj = scope.from_storage(obj)
    version = str(written.revision) if written.revision else written.given
    if version:
        obj["metadata"]["resourceVersion"] = version
    if written.link:
        obj["metadata"]["selfLink"] = written.link
    return encode_answer(obj, scope.resource.kind, scope.resource.api_version)
