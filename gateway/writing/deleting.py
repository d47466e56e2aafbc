"""Deleting a stored object, or marking it as being deleted (API Concepts, "Resource deletion")."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.http import status
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.strategy import Termination
from gateway.schema.encode import encode_stored
from gateway.writing.deletion import Step, plan
from gateway.writing.options import DeleteOptions
from gateway.writing.write import Write, Written, mutate, validate
from storage.errors import Conflict, StoredObject

# Propagation policies put finalizers on objects that only a garbage collector takes away again.
GARBAGE_COLLECTED = False


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a delete did: the object as it is or was last, and whether it is gone."""

    obj: JsonObject
    written: Written
    gone: bool


async def delete_object(write: Write, options: DeleteOptions) -> Deleted:
    """Deletes the object that `write` names; repeats when it changes meanwhile. Raises StatusError."""
    resource, attributes, store = write.resource, write.attributes, write.endpoint.store
    key = write.endpoint.key(attributes.namespace, attributes.name)
    current = store.cached(key)
    fresh = current is None
    if current is None:
        current = await store.get(key)
    while True:
        if current is None:
            raise status.not_found(resource.group, resource.resource, attributes.name)
        try:
            deleted = await _attempt(write, key, current, options)
        except Conflict as lost:
            current, fresh = lost.current, True
            continue
        except status.StatusError:
            if fresh:
                raise
            deleted = None
        if deleted is not None and (fresh or not deleted.written.unchanged):
            return deleted
        latest, fresh = await store.get(key), True
        if deleted is not None and latest is not None and latest.revision == current.revision:
            return deleted
        current = latest


async def _attempt(write: Write, key: bytes, current: StoredObject, options: DeleteOptions) -> Deleted:
    obj = write.endpoint.parse(current.value)
    _check_preconditions(write, obj["metadata"], current.revision, options)
    await mutate(write, Operation.DELETE, None, obj)
    await validate(write, Operation.DELETE, None, obj)
    strategy = write.endpoint.strategy
    if strategy.termination is not None:
        return await _terminate(write, strategy.termination, key, current, obj)
    decided = plan(strategy, obj, options, collected=GARBAGE_COLLECTED)
    if decided.step is Step.NOTHING:
        return Deleted(obj, Written(current.value, current.revision, unchanged=True), False)
    if decided.step is Step.REMOVE:
        return await _remove(write, key, obj, current.value, current.revision)
    written = await _put_mark(write, key, current, obj)
    if decided.step is Step.MARK:
        return Deleted(obj, written, False)
    return await _remove(write, key, obj, written.value, written.revision)


async def _put_mark(write: Write, key: bytes, current: StoredObject, obj: JsonObject) -> Written:
    resource = write.resource
    if obj == write.endpoint.parse(current.value):
        return Written(current.value, current.revision, unchanged=True)
    value = encode_stored(obj, resource.kind, resource.storage_version)
    if write.options.dry_run:
        return Written(value, current.revision)
    return Written(value, await write.endpoint.store.update(key, value, current.revision))


async def _remove(write: Write, key: bytes, obj: JsonObject, value: bytes, revision: int) -> Deleted:
    if write.options.dry_run:
        return Deleted(obj, Written(value, revision), True)
    deletion = await write.endpoint.store.delete(key, revision)
    if write.endpoint.hooks is not None:
        await write.endpoint.hooks.after_delete(obj, write.attributes)
    return Deleted(obj, Written(value, deletion), True)


async def _terminate(
    write: Write, termination: Termination, key: bytes, current: StoredObject, obj: JsonObject
) -> Deleted:
    """Marks an object as terminating. What it holds is for its controller to remove, and then it goes.

    There is no such controller yet: what nobody else finalizes goes at once.
    """
    termination.begin(obj, write.attributes.now)
    written = await _put_mark(write, key, current, obj)
    others = [name for name in termination.finalizers(obj) if name != "kubernetes"]
    if not others and not obj["metadata"].get("finalizers") and not write.options.dry_run:
        await write.endpoint.store.delete(key, written.revision)
        written = Written(written.value, written.revision)
    return Deleted(obj, written, False)


def _check_preconditions(write: Write, meta: JsonObject, revision: int, options: DeleteOptions) -> None:
    """Raises StatusError 409 when the object is not the one, or the version, that the client wants gone."""
    name, uid = write.attributes.name, meta.get("uid", "")
    for what, wanted, actual, guess in (
        ("UID", options.uid, uid, "deleted and then recreated"),
        ("ResourceVersion", options.resource_version, str(revision), "modified"),
    ):
        if wanted is None or wanted == actual:
            continue
        if write.endpoint.strategy.termination is not None:
            cause = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {actual}"
            raise status.conflict(write.resource.group, write.resource.resource, name, cause)
        cause = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({actual}). "
        raise status.conflict(
            write.endpoint.kind_group, write.resource.kind, name, f"{cause}The object might have been {guess}"
        )
