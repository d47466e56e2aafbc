"""Changing a stored object: until nobody else is faster, from the version that the cache has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gateway.access.authorization import forbidden
from gateway.apply import keep_timestamps
from gateway.http import status
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes, Operation
from gateway.schema.encode import encode_stored
from gateway.validation.names import name_is_path_segment
from gateway.validation.objectmeta import validate_object_meta, validate_object_meta_update
from gateway.writing import metadata
from gateway.writing.allocating import allocated
from gateway.writing.conflicts import check_uid, check_version
from gateway.writing.creating import admit_new, insert, prepare_new
from gateway.writing.deletion import finalized
from gateway.writing.offload import offloaded
from gateway.writing.write import Write, Written, invalid, lease_of, mutate, validate
from storage.errors import Conflict, KeyExists, StoredObject

# Makes the new object (served version, managed fields set) of the present one (with its resourceVersion), None if none
MakeObject = Callable[[JsonObject | None], JsonObject]


async def update_object(write: Write, make: MakeObject, *, uid: str = "", allow_create: bool = False) -> Written:
    """Reads the present object, makes the new one of it and stores that; repeats when somebody else was faster.

    It starts from the watch cache; before an error that the cache's staleness may have caused is answered, the object
    is read again from etcd, and so it is before a write is left out because it changes nothing. `uid` is a
    precondition. Raises StatusError.
    """
    attributes, store = write.attributes, write.endpoint.store
    key = write.endpoint.key(attributes.namespace, attributes.name)
    current = store.cached(key)
    fresh = current is None
    if current is None:
        current = await store.get(key)
    warned = len(attributes.warnings)
    while True:
        written: Written | None = None
        try:
            written = await _attempt(write, key, current, make, uid, allow_create)
        except StatusError:
            if fresh:
                raise
        except (Conflict, KeyExists) as lost:
            current, fresh = lost.current, True
            del attributes.warnings[warned:]
            continue
        if written is not None and (fresh or not written.unchanged):
            return written
        latest, fresh = await store.latest(key), True
        if written is not None and latest is not None and current is not None and latest.revision == current.revision:
            return written
        current = latest
        del attributes.warnings[warned:]


async def _attempt(
    write: Write, key: bytes, current: StoredObject | None, make: MakeObject, uid: str, allow_create: bool
) -> Written:
    endpoint = write.endpoint
    if current is None:
        return await _create_instead(write, key, make, uid, allow_create)
    write.size = max(write.size, len(current.value))

    def changed() -> tuple[JsonObject, JsonObject | None]:
        old = endpoint.parse(current.value)
        old["metadata"]["resourceVersion"] = str(current.revision)
        check_uid(write, key, uid, old["metadata"].get("uid", ""))
        served = endpoint.served(old)
        new = make(served)
        if new is served:
            return old, None
        return old, new if endpoint.to_storage is None else endpoint.to_storage(new)

    old, new = await offloaded(write.size, changed)
    if new is None:
        return Written(current.value, current.revision, unchanged=True)
    obj = await mutate(write, Operation.UPDATE, new, old)
    assert obj is not None
    metadata.drop_duplicate_owners(obj["metadata"], write.attributes.warnings, after_admission=True)
    check_version(write, obj["metadata"], current.revision)
    async with allocated(write, obj, old):
        await prepare_update(write, obj, old)
        return await _replace(write, key, current, obj, old)


async def prepare_update(write: Write, obj: JsonObject, old: JsonObject) -> None:
    """Fills in metadata, then the strategy's turn, validation and the validating half of admission."""
    await offloaded(write.size, lambda: _prepare_update(write, obj, old))
    await validate(write, Operation.UPDATE, obj, old)


def _prepare_update(write: Write, obj: JsonObject, old: JsonObject) -> None:
    resource, strategy, attributes = write.resource, write.endpoint.strategy, write.attributes
    meta, old_meta = obj["metadata"], old["metadata"]
    metadata.match_namespace(meta, metadata.expected_namespace(resource, attributes.namespace))
    metadata.keep_generation(meta, old_meta)
    strategy.prepare_for_update(obj, old, attributes)
    metadata.carry_over(meta, old_meta)
    errors = validate_object_meta(meta, resource.namespaced, name_is_path_segment, standard_finalizers=False)
    errors += validate_object_meta_update(meta, old_meta, built_in=strategy.rechecks_metadata)
    errors += strategy.validate_update(obj, old, attributes)
    if errors:
        raise invalid(write, errors)
    if strategy.warnings_on_update is not None:
        attributes.warnings += strategy.warnings_on_update(obj, old, attributes)
    if strategy.canonicalize is not None:
        strategy.canonicalize(obj)
    keep_timestamps(obj, old)


async def _replace(write: Write, key: bytes, current: StoredObject, obj: JsonObject, old: JsonObject) -> Written:
    """The transaction of an update: none when nothing changed, a deletion when the last finalizer went."""
    resource, store, dry_run = write.resource, write.endpoint.store, write.options.dry_run
    link = obj["metadata"].pop("selfLink", "")
    if finalized(write.endpoint.object_strategy, obj, old):
        if not dry_run:
            await store.delete(key, current.revision)
            if write.endpoint.hooks is not None:
                await write.endpoint.hooks.after_delete(old, write.attributes)
        return Written(encode_stored(obj, resource.kind, resource.storage_version), current.revision)
    if obj == old:
        return Written(current.value, current.revision, unchanged=True, link=link if dry_run else "")
    value = await offloaded(write.size, lambda: encode_stored(obj, resource.kind, resource.storage_version))
    if dry_run:
        return Written(value, current.revision, link=link)
    return Written(value, await store.update(key, value, current.revision, await lease_of(write)))


async def _create_instead(write: Write, key: bytes, make: MakeObject, uid: str, allow_create: bool) -> Written:
    """An update or apply of what does not exist: a create where that is allowed, else StatusError 404."""
    attributes, resource = write.attributes, write.resource
    if not allow_create:
        raise status.not_found(resource.group, resource.resource, attributes.name)
    check_uid(write, key, uid, "")
    obj = await admit_new(write, await offloaded(write.size, lambda: make(None)))
    meta = obj["metadata"]
    metadata.resource_version(meta)
    metadata.fill_system_fields(meta, attributes.now)
    async with allocated(write, obj, None):
        await prepare_new(write, obj)
        _authorize_create(write)
        return await insert(write, obj)


def _authorize_create(write: Write) -> None:
    """Who creates by an update or an apply must be allowed to create too. Raises StatusError 403."""
    attributes = Attributes(write.attributes.user, replace(write.attributes.info, verb="create"))
    reason = write.endpoint.services.authorizer.authorize(attributes)
    if reason is not None:
        raise forbidden(attributes, reason)
