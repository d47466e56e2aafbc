"""Stores a new object: admission, metadata, the strategy's preparation, validation, the transaction."""

from __future__ import annotations

from gateway.http import status
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.kinds import metadata
from gateway.kinds.attributes import Operation
from gateway.validation.field import FieldError
from gateway.validation.objectmeta import validate_object_meta
from gateway.writing.allocating import Allocating
from gateway.writing.conflicts import already_there
from gateway.writing.offload import offloaded
from gateway.writing.owners import drop_duplicate_owners
from gateway.writing.write import (
    Write,
    Written,
    encoded,
    invalid,
    judge,
    judged_beside,
    mutate,
    put,
    read_back,
    validate,
)
from storage.change import write_once
from storage.errors import KeyExists

GENERATED_NAME_ATTEMPTS = 8


async def create_object(write: Write, obj: JsonObject) -> Written:
    """Stores a new object (served version). With generateName, tries several names. Raises StatusError 403, 409, 422
    and others.
    """
    obj = await admit_new(write, obj)
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


async def admit_new(write: Write, obj: JsonObject) -> JsonObject:
    """Runs mutating admission for a new object (served version); returns the object in the storage version."""
    refusal, resource = write.endpoint.strategy.refuse_creation, write.resource
    if refusal:
        raise status.forbidden(resource.group, resource.resource, write.attributes.name, refusal)
    to_storage = write.endpoint.to_storage
    admitted = await mutate(write, Operation.CREATE, obj if to_storage is None else to_storage(obj), None)
    assert admitted is not None
    if "ownerReferences" in admitted["metadata"]:
        await drop_duplicate_owners(write, admitted, after_admission=True)
    return admitted


async def _store_new(write: Write, obj: JsonObject) -> Written:
    meta = obj["metadata"]
    metadata.fill_system_fields(meta, write.attributes.now)
    async with Allocating(write.endpoint.hooks, write.attributes, obj, None) as allocating:
        await prepare_new(write, obj)
        if not write.options.dry_run and metadata.carries_version(meta):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        value = await encoded(write, obj)
        key = write.endpoint.key(write.attributes.namespace, meta["name"])
        if write.options.dry_run:
            return await _as_if_stored(write, key, value, obj)
        shown = await read_back(write, value, created=True)
        decision = allocating.decided(await put(write, value, allocating.finish))
    try:
        revision = (await write_once(write.store, key, None, decision)).revision
    except KeyExists as error:
        raise already_there(write, obj, error.current) from None
    return Written(shown, revision, created=True)


async def _as_if_stored(write: Write, key: bytes, value: bytes, obj: JsonObject) -> Written:
    """Takes the place of the transaction in a dry run."""
    present = await write.endpoint.store.get(key)
    if present is not None:
        raise already_there(write, obj, present)
    meta, shown = obj["metadata"], await read_back(write, value, created=True)
    return Written(shown, 0, created=True, given=meta.get("resourceVersion", ""), link=meta.get("selfLink", ""))


async def prepare_new(write: Write, obj: JsonObject) -> None:
    """Fills in metadata, then runs the strategy's preparation, validation and validating admission."""
    if (rights := write.endpoint.rights) is not None:
        write.attributes.access_errors = await rights.errors(write.attributes, obj, None)
    await offloaded(write.effort, _prepare_new, write, obj)
    await validate(write, obj)


def _prepare_new(write: Write, obj: JsonObject) -> None:
    resource, strategy, attributes = write.resource, write.endpoint.strategy, write.attributes
    meta = obj["metadata"]
    metadata.match_namespace(meta, metadata.expected_namespace(resource, attributes.namespace))
    attributes.name = meta.get("name", "")
    strategy.prepare_for_create(obj, attributes)
    attributes.specification.prepared(obj)
    attributes.name = meta.get("name", "")
    attributes.metadata_errors = wrong = _metadata_errors(write, meta)
    errors = judge(write, lambda: strategy.validate(obj, attributes))
    told = [*attributes.access_errors, *([] if errors and strategy.metadata_last else wrong), *errors]
    if told := judged_beside(write, told, obj, None):
        raise invalid(write, told, obj)
    if strategy.warnings_on_create is not None:
        attributes.warnings += strategy.warnings_on_create(obj, attributes)
    if strategy.canonicalize is not None:
        strategy.canonicalize(obj)


def _metadata_errors(write: Write, meta: JsonObject) -> list[FieldError]:
    strategy = write.endpoint.strategy
    return validate_object_meta(
        meta, write.resource.namespaced, strategy.validate_name, standard_finalizers=strategy.standard_finalizers
    )
