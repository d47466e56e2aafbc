"""Keeps spec and status separate (API Conventions "Spec and Status"), and counts generations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import same
from gateway.validation.field import FieldError

OnCreate = Callable[[JsonObject, WriteContext], None]
OnUpdate = Callable[[JsonObject, JsonObject, WriteContext], None]

CLIENTS_METADATA = (
    "deletionTimestamp",
    "generation",
    "selfLink",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
)
"""Members of metadata that a write of a subresource such as status does not change."""


def empty_status(status: JsonObject | None = None, *, generation: bool = False) -> OnCreate:
    """A prepare_for_create: sets the status to `status`, or removes it for None. `generation`: also sets that to 1."""

    def prepare(obj: JsonObject, context: WriteContext) -> None:
        if status is None:
            obj.pop("status", None)
        else:
            obj["status"] = deepcopy(status)
        if generation:
            obj["metadata"]["generation"] = 1

    return prepare


def keep(obj: JsonObject, old: JsonObject, key: str) -> None:
    """Sets the member `key` of `obj` to that of `old`, or removes it. It is copied, unless both share it already."""
    if key not in old:
        obj.pop(key, None)
    elif obj.get(key) is not old[key]:
        obj[key] = deepcopy(old[key])


def keep_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    """A prepare_for_update of the resource itself: keeps the old status."""
    keep(obj, old, "status")


def keep_spec(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    """A prepare_for_update of a status subresource: keeps the old spec."""
    keep(obj, old, "spec")


def keep_spec_and_metadata(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    """As `keep_spec`, and keeps the metadata in `CLIENTS_METADATA` too."""
    keep(obj, old, "spec")
    meta, before = obj["metadata"], old["metadata"]
    for key in CLIENTS_METADATA:
        if key in before:
            meta[key] = deepcopy(before[key])
        else:
            meta.pop(key, None)


def keep_spec_and_all_metadata(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    """As `keep_spec`, and keeps all metadata except managedFields."""
    keep(obj, old, "spec")
    managed = obj["metadata"].get("managedFields")
    obj["metadata"] = deepcopy(old["metadata"])
    obj["metadata"].pop("managedFields", None)
    if managed is not None:
        obj["metadata"]["managedFields"] = managed


def bump_generation(obj: JsonObject, old: JsonObject) -> None:
    """Sets the generation to that of `old`, plus 1."""
    obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def first_generation(obj: JsonObject, context: WriteContext) -> None:
    """A prepare_for_create: sets the generation to 1."""
    obj["metadata"]["generation"] = 1


def counting(keys: Sequence[str] = ("spec",), *, status: bool = True) -> OnUpdate:
    """A prepare_for_update: with `status` keeps the old status; a change of any of `keys` increments the generation.

    For the kinds in `empty_lists.compared_deeply`, an empty list from the client increments the generation, too.
    """

    def prepare(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
        if status:
            keep(obj, old, "status")
        if any(key in context.unstored or not same(obj.get(key), old.get(key)) for key in keys):
            bump_generation(obj, old)

    return prepare


def with_status(
    own: Strategy,
    validate_status: Callable[[JsonObject, JsonObject, WriteContext], list[FieldError]] | None = None,
    *,
    prepare: OnUpdate = keep_spec,
    rechecks_metadata: bool = True,
    resets: tuple[tuple[str, ...], ...] = (("spec",),),
) -> dict[str, Strategy]:
    """The strategies of a kind with a status subresource: those of the resource (`own`) and of the status."""
    status = Strategy(prepare_for_update=prepare, rechecks_metadata=rechecks_metadata, reset_fields=resets)
    if validate_status is not None:
        status = replace(status, validate_update=validate_status)
    return {"": replace(own, reset_fields=(("status",),)), "status": status}
