"""Admission of a write: its mutating half before validation, its validating half after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from gateway.admission.record import Admission, record_of
from gateway.apply.entries import read as read_managers
from gateway.endpoints.endpoint import Endpoint
from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.attributes import Operation
from gateway.kinds.write_context import WriteContext, WriteOptions
from gateway.writing.options import options_document
from gateway.writing.write import Write
from storage.change import Charge

MakeOptions = Callable[[], JsonObject | None]

_INVALID_MANAGERS = (
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
    "admission controller; please fix your requests"
)


class Admitted(NamedTuple):
    """What mutating admission leaves: the object (of a deletion: an empty one), and the last record."""

    obj: JsonObject
    size: int  # that of the write in bytes; admission may have made the object larger
    admission: Admission

    @property
    def replaced(self) -> bool:
        """Whether a plug-in has replaced the object that was sent."""
        return self.admission.replaced


async def mutate(
    write: Write,
    operation: Operation,
    obj: JsonObject | None,
    old: JsonObject | None,
    make_options: MakeOptions | None = None,
) -> Admitted:
    """Runs mutating admission. `make_options` makes the JSON of the options, in the place of those of the write.

    Raises the first refusal, a StatusError.
    """
    endpoint, size = _admitted_as(write), write.size
    begun = record_of(
        write.context,
        operation,
        obj,
        old,
        endpoint.resource,
        _name(write.context),
        make_options or partial(_options, write.options, operation),
        write.annotate,
    )
    managed = None if obj is None else obj.get("metadata", {}).get("managedFields")
    admission = await endpoint.chain.mutate(begun)
    obj, guard = admission.obj, write.endpoint.guard
    if admission.replaced and obj is not None:
        _keep_managers(admission, obj, managed)
        size = max(size, len(dumps(obj)))
    if guard is not None and obj is not None:
        await guard.check(write.context.request, obj, old)
    return Admitted({} if obj is None else obj, size, admission)


async def validate(
    write: Write,
    admitted: Admitted,
    obj: JsonObject | None,
    old: JsonObject | None = None,
    context: WriteContext | None = None,
) -> Charge | None:
    """Runs validating admission for the object as it will be stored. Returns its charge to quotas.

    `old` is the stored object; it counts only with a facet: validating admission then sees it without managedFields.
    `context` replace those of the write. Raises the first refusal, a StatusError.
    """
    context = write.context if context is None else context
    endpoint, facet, before = write.endpoint, write.facet, admitted.admission.old
    if facet is not None and obj is not None:
        if old is not None:
            before = facet.of(endpoint.served(old))
        endpoint, obj = facet.endpoint, facet.of(endpoint.served(obj))
    begun = admitted.admission.validating(context, obj, before, _name(context))
    return (await endpoint.chain.validate(begun)).charge


def asked_outside(write: Write, operation: Operation) -> bool:
    """Whether an admission webhook may be called for a write. A webhook must be called only once for each attempt."""
    endpoint = _admitted_as(write)
    hooks = endpoint.services.admission.webhooks
    if hooks.mutating.idle and hooks.validating.idle:
        return False
    return any(sort.of(endpoint.resource, operation) for sort in (hooks.mutating, hooks.validating))


def _admitted_as(write: Write) -> Endpoint:
    return write.endpoint if write.facet is None else write.facet.endpoint


def _name(context: WriteContext) -> str:
    """The object's name for admission; "" for deletecollection."""
    return "" if context.of_collection else context.name


def _options(options: WriteOptions, operation: Operation) -> JsonObject:
    return options_document(options, "CreateOptions" if operation is Operation.CREATE else "UpdateOptions")


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
