"""Stores a new object: admission, metadata, the strategy's preparation, validation, the transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from gateway.http import status
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds import metadata
from gateway.kinds.attributes import Operation
from gateway.kinds.write_context import WriteContext
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import validate_object_meta
from gateway.writing.admission import Admitted, mutate, validate
from gateway.writing.allocation import Allocating
from gateway.writing.conflicts import already_there
from gateway.writing.offload import offloaded
from gateway.writing.owners import drop_duplicate_owners
from gateway.writing.write import (
    Prepared,
    Write,
    Written,
    as_admitted,
    encoded,
    invalid,
    judge,
    judged_beside,
    put,
    read_back,
)
from storage.change import write_once
from storage.errors import KeyExists

GENERATED_NAME_ATTEMPTS = 8


async def create_object(write: Write, obj: JsonObject) -> Written:
    """Stores a new object (served version). With generateName, tries several names. Raises StatusError 403, 409, 422
    and others.
    """
    admitted = await admit_new(write, obj)
    obj = admitted.obj
    meta = obj["metadata"]
    if meta.get("name") or not meta.get("generateName"):
        return await _store_new(write, admitted, obj)
    pristine = dumps(obj)
    for attempt in range(1, GENERATED_NAME_ATTEMPTS + 1):
        try:
            return await _store_new(write, admitted, obj if attempt == 1 else loads(pristine))
        except StatusError as error:
            if error.reason != "AlreadyExists" or attempt == GENERATED_NAME_ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


async def admit_new(write: Write, obj: JsonObject) -> Admitted:
    """Runs mutating admission for a new object (served version); its result is in the storage version."""
    refusal, resource = write.endpoint.strategy.refuse_creation, write.resource
    if refusal:
        raise status.forbidden(resource.group, resource.resource, write.context.name, refusal)
    to_storage = write.endpoint.to_storage
    admitted = await mutate(write, Operation.CREATE, obj if to_storage is None else to_storage(obj), None)
    if "ownerReferences" in admitted.obj["metadata"]:
        await drop_duplicate_owners(write, admitted.obj, after_admission=True)
    return admitted


async def _store_new(write: Write, admitted: Admitted, obj: JsonObject) -> Written:
    meta = obj["metadata"]
    metadata.fill_system_fields(meta, write.context.now, write.endpoint.strategy.generate_name)
    async with Allocating(write.endpoint.hooks, write.context, obj, None) as allocating:
        prepared = await prepare_new(write, admitted, obj)
        if not write.options.dry_run and metadata.carries_version(meta):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        value = await encoded(write, prepared)
        key = write.endpoint.key(write.context.namespace, meta["name"])
        if write.options.dry_run:
            return await _as_if_stored(write, key, value, prepared)
        shown = await read_back(write, value, prepared.size, created=True)
        decision = allocating.decided(await put(write, key, None, value, prepared.charge, allocating.finish))
    try:
        revision = (await write_once(write.store, key, None, decision)).revision
    except KeyExists as error:
        raise already_there(write, obj, error.current) from None
    return Written(shown, revision, created=True)


async def _as_if_stored(write: Write, key: bytes, value: bytes, prepared: Prepared) -> Written:
    """Takes the place of the transaction in a dry run."""
    present = await write.endpoint.store.get(key)
    if present is not None:
        raise already_there(write, prepared.obj, present)
    meta, shown = prepared.obj["metadata"], await read_back(write, value, prepared.size, created=True)
    return Written(shown, 0, created=True, given=meta.get("resourceVersion", ""), link=meta.get("selfLink", ""))


async def prepare_new(
    write: Write, admitted: Admitted, obj: JsonObject, authorize: Callable[[], Awaitable[None]] | None = None
) -> Prepared:
    """Fills in metadata, then runs the strategy's preparation, validation and validating admission. Raises
    StatusError.

    `authorize` is called before validating admission, as in kube-apiserver's update handler: webhooks are not called
    for a user who lacks a right.
    """
    rights, size, write = write.endpoint.rights, admitted.size, as_admitted(write, admitted.replaced)
    lacking = () if rights is None else await rights.errors(write.context, obj, None)
    context = await offloaded(size * write.endpoint.strategy.weight, _prepare_new, write, obj, lacking)
    if authorize is not None:
        await authorize()
    charge = await validate(write, admitted, obj, None, context)
    return Prepared(obj, size, context, admitted.replaced, charge)


def _prepare_new(write: Write, obj: JsonObject, lacking: Sequence[FieldError]) -> WriteContext:
    """Prepares and validates; `lacking` are the errors of rights that the user lacks. Returns the final context."""
    resource, strategy, context = write.resource, write.endpoint.strategy, write.context
    meta = obj["metadata"]
    metadata.match_namespace(meta, metadata.expected_namespace(resource, context.namespace))
    strategy.prepare_for_create(obj, context)
    context = context.prepared(obj)
    wrong = _metadata_errors(write, meta)
    judged = context.with_metadata_errors(wrong)
    errors = judge(write, lambda: strategy.validate(judged.as_sent(obj), judged))
    told = [*lacking, *([] if errors and strategy.metadata_last else wrong), *errors]
    if told := judged_beside(write, told, obj, None):
        raise invalid(write, told, obj)
    if strategy.warnings_on_create is not None:
        context.warn(strategy.warnings_on_create(obj, context))
    if strategy.canonicalize is not None:
        strategy.canonicalize(obj)
    return context


def _metadata_errors(write: Write, meta: JsonObject) -> list[FieldError]:
    strategy = write.endpoint.strategy
    return validate_object_meta(
        meta, write.resource.namespaced, strategy.validate_name, standard_finalizers=strategy.standard_finalizers
    )
