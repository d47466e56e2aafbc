"""Managed fields of all writes but apply: a field manager owns the fields that it changes ("Server-Side Apply")."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import deepcopy
from typing import Any

from gateway.apply import update_managed
from gateway.apply.field_set import LEAF, FieldSet
from gateway.endpoints.endpoint import Endpoint
from gateway.jsontypes import JsonObject
from gateway.schema.decode import DecodeReport
from gateway.schema.empty_lists import compared_deeply, null_empty_lists, unstored
from gateway.schema.types import Type
from gateway.writing.make import Present
from gateway.writing.write import Write


def track_fields(write: Write, new: JsonObject, present: Present | None = None, emptied: FieldSet = LEAF) -> None:
    """Records in `new`'s managedFields the fields that differ from the present object; both are in the served version.

    `emptied`: fields that count as changed, by empty lists that `new` lacks. Without `present` the object is new. After
    that, empty lists in `new` are changed to their stored form. Managed fields needed them as they were sent.
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
            resets_in=versions_reset(write),
            convert=convert,
            known_member=write.context.known_member if old is None else None,
            emptied=LEAF if old is None else emptied,
        )
    except ValueError:  # a version of the object does not conform to its schema: owners cannot be computed
        _keep_owners(write, new, old)
    null_empty_lists(endpoint.type, new)


def versions_reset(write: Write) -> Collection[str]:
    """The other versions of a custom resource in which fields that a write resets keep their owners. For a write of the
    status, these are the versions with a status subresource.
    """
    resource = write.resource
    if not resource.custom or resource.subresource != "status" or not write.context.enabled("StatusResetsAllVersions"):
        return ()
    versions = resource.model.versions.values()
    return [version.api_version for version in versions if "status" in version.subresources]


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


def told_apart(type_: Type, sent: Any, made: JsonObject, report: DecodeReport) -> tuple[Sequence[str], FieldSet]:
    """What storage changes of a value that a client sent: names and paths as of `unstored`, and the fields that an
    update changes (see `gateway.apply.emptied`).

    `made` is the object that was decoded from it, with this report.
    """
    lost = unstored(type_, sent)
    if not report.emptied or type_.structural:  # storage keeps the empty lists of custom objects
        return lost, LEAF
    from gateway.apply.emptied import emptied_fields  # rare

    return [*lost, *compared_deeply(type_, sent, made)], emptied_fields(type_, sent, made)
