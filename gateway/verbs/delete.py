"""delete: DELETE of one object (API Concepts, "Resource deletion")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.admission.chain import Operation, review
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.jsontypes import JsonObject, dumps
from gateway.resources.resource import Resource
from gateway.schema.encode import encode_stored
from gateway.verbs.corrupt import delete_corrupt
from gateway.verbs.delete_options import read_delete_options
from gateway.verbs.deletion import RETURNS_OBJECT, Step, mark_namespace, plan
from gateway.verbs.options import DeleteOptions, WriteOptions
from gateway.verbs.write import Write, Written, begin, body_of
from storage.errors import Conflict, StoredObject

if TYPE_CHECKING:
    from gateway.server import Gateway

# Propagation policies put finalizers on objects that only a garbage collector takes away again.
GARBAGE_COLLECTED = False
CHILDREN_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
_SYSTEM_PRIORITIES = frozenset({"system-node-critical", "system-cluster-critical"})


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a delete did: the object as it is or was last, and whether it is gone."""

    obj: JsonObject
    written: Written
    gone: bool


async def delete(gateway: Gateway, request: Request, resource: Resource) -> Response:
    """Deletes or marks an object; answers it or a Status. Raises StatusError 400, 404, 409, 413, 415, 422."""
    options = await read_delete_options(request)
    write = begin(gateway, request, resource, WriteOptions(dry_run=options.dry_run))
    if resource.resource == "priorityclasses" and write.context.name in _SYSTEM_PRIORITIES:
        reason = "this is a system priority class and cannot be deleted"
        raise status.forbidden(resource.group, resource.resource, write.context.name, reason)
    if resource.resource == "jobs" and resource.group == "batch" and unspecified(options):
        request.warnings.append(CHILDREN_STAY)
    if options.unsafe and await delete_corrupt(write, options):
        return Response(200, _success(write, {"metadata": {"name": write.context.name}}, resource.kind))
    deleted = await delete_object(write, options)
    code = 202 if not deleted.gone and options.orphan_dependents is False else 200
    if not deleted.gone or (resource.group, resource.resource) in RETURNS_OBJECT:
        return Response(code, body_of(write, deleted.written))
    return Response(code, _success(write, deleted.obj))


def unspecified(options: DeleteOptions) -> bool:
    """Whether the client leaves it to the kind what becomes of an object's dependents."""
    return options.propagation is None and options.orphan_dependents is None


async def delete_object(write: Write, options: DeleteOptions) -> Deleted:
    """Deletes the object that `write` names; repeats when it changes meanwhile. Raises StatusError."""
    resource, context, store = write.resource, write.context, write.gateway.store
    key = write.scope.key(context.namespace, context.name)
    current = store.cached(key)
    fresh = current is None
    if current is None:
        current = await store.get(key)
    while True:
        if current is None:
            raise status.not_found(resource.group, resource.resource, context.name)
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
    scope, resource, context = write.scope, write.resource, write.context
    obj = scope.parse(current.value)
    _check_preconditions(write, obj["metadata"], current.revision, options)
    for reviews in (scope.chain.mutating, scope.chain.validating):
        await review(reviews[Operation.DELETE], None, obj, context, scope.lookup)
    if _is_namespace(resource):
        return await _delete_namespace(write, key, current, obj)
    decided = plan(resource, obj, options, collected=GARBAGE_COLLECTED)
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
    if obj == write.scope.parse(current.value):
        return Written(current.value, current.revision, unchanged=True)
    value = encode_stored(obj, resource.kind, resource.storage_version)
    if write.options.dry_run:
        return Written(value, current.revision)
    return Written(value, await write.gateway.store.update(key, value, current.revision))


async def _remove(write: Write, key: bytes, obj: JsonObject, value: bytes, revision: int) -> Deleted:
    if write.options.dry_run:
        return Deleted(obj, Written(value, revision), True)
    deletion = await write.gateway.store.delete(key, revision)
    if write.scope.hooks is not None:
        await write.scope.hooks.after_delete(obj, write.context)
    return Deleted(obj, Written(value, deletion), True)


async def _delete_namespace(write: Write, key: bytes, current: StoredObject, obj: JsonObject) -> Deleted:
    """Marks a namespace as terminating. What it holds is for its controller to remove, and then it goes.

    There is no such controller yet: a namespace that nobody else finalizes goes at once.
    """
    mark_namespace(obj, write.context.now)
    written = await _put_mark(write, key, current, obj)
    others = [name for name in (obj.get("spec") or {}).get("finalizers") or () if name != "kubernetes"]
    if not others and not obj["metadata"].get("finalizers") and not write.options.dry_run:
        await write.gateway.store.delete(key, written.revision)
        written = Written(written.value, written.revision)
    return Deleted(obj, written, False)


def _check_preconditions(write: Write, meta: JsonObject, revision: int, options: DeleteOptions) -> None:
    """Raises StatusError 409 when the object is not the one, or the version, that the client wants gone."""
    name, uid = write.context.name, meta.get("uid", "")
    for what, wanted, actual, guess in (
        ("UID", options.uid, uid, "deleted and then recreated"),
        ("ResourceVersion", options.resource_version, str(revision), "modified"),
    ):
        if wanted is None or wanted == actual:
            continue
        if _is_namespace(write.resource):
            cause = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {actual}"
            raise status.conflict("", "namespaces", name, cause)
        cause = f"the {what} in the precondition ({wanted}) does not match the {what} in record ({actual}). "
        raise status.conflict(
            write.scope.kind_group, write.resource.kind, name, f"{cause}The object might have been {guess}"
        )


def _is_namespace(resource: Resource) -> bool:
    return resource.resource == "namespaces" and not resource.group


def _success(write: Write, obj: JsonObject, kind: str = "") -> bytes:
    resource, meta = write.resource, obj["metadata"]
    kind = kind or resource.resource
    details = {"name": meta.get("name"), "group": resource.group, "kind": kind, "uid": meta.get("uid")}
    return dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {key: value for key, value in details.items() if value},
        }
    )
