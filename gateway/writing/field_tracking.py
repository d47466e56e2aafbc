"""Managed fields of all writes but apply: a field manager owns the fields that it changes ("Server-Side Apply")."""

from __future__ import annotations

from copy import deepcopy

from gateway.apply import update_managed
from gateway.endpoints.endpoint import Endpoint
from gateway.jsontypes import JsonObject
from gateway.schema.empty_lists import null_empty_lists
from gateway.writing.make import Present
from gateway.writing.write import Write


def track_fields(write: Write, new: JsonObject, present: Present | None = None) -> None:
    """Records in `new`'s managedFields the fields that differ from the present object; both are in the served version.

    Without `present` the object is new. After that, empty lists in `new` are changed to their stored form. Managed
    fields needed them as they were sent.
    """
    resource, endpoint = write.resource, write.endpoint
    old, convert = (None, endpoint.convert) if present is None else (present.obj, present.convert)
    if endpoint.to_storage is not None:
        _show_as_stored(endpoint, new)
    try:
        update_managed(
            new,
            old,
            endpoint.type,
            manager=write.context.manager,
            api_version=resource.api_version,
            subresource=resource.subresource,
            now=write.context.now,
            reset=endpoint.strategy.reset_fields,
            convert=convert,
            shared=write.context.specification.template if old is None else None,
        )
    except ValueError:  # a version of the object does not conform to its schema: owners cannot be computed
        _keep_owners(write, new, old)
    null_empty_lists(endpoint.type, new)


def _keep_owners(write: Write, new: JsonObject, old: JsonObject | None) -> None:
    """Keeps the old managedFields, in releases with the change OwnersKeptWhereUnknown; in others they are lost."""
    owners = None if old is None else old["metadata"].get("managedFields")
    if owners and write.context.enabled("OwnersKeptWhereUnknown"):
        new["metadata"]["managedFields"] = deepcopy(owners)


def _show_as_stored(endpoint: Endpoint, new: JsonObject) -> None:
    """Adds, in place, the annotations that a conversion to the storage version and back adds for fields of other
    versions.
    """
    assert endpoint.to_storage is not None
    annotations = endpoint.served(endpoint.to_storage(new))["metadata"].get("annotations")
    if annotations:
        new["metadata"]["annotations"] = annotations
