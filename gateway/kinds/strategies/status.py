"""How specification and status are kept apart (API Conventions "Spec and Status"), and how generations count."""

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
"""The members of metadata that a subresource leaves as they were which is not about metadata."""


def empty_status(status: JsonObject | None = None, *, generation: bool = False) -> OnCreate:
    """A prepare_for_create: the status starts as `status`, the generation (if kept) at 1."""

    def prepare(obj: JsonObject, attributes: WriteContext) -> None:
        if status is None:
            obj.pop("status", None)
        else:
            obj["status"] = deepcopy(status)
        if generation:
            obj["metadata"]["generation"] = 1

    return prepare


def keep(obj: JsonObject, old: JsonObject, key: str) -> None:
    """Gives `obj` a copy of the old member, none where the old object has none; what they share stays shared."""
    if key not in old:
        obj.pop(key, None)
    elif obj.get(key) is not old[key]:
        obj[key] = deepcopy(old[key])


def keep_status(obj: JsonObject, old: JsonObject, attributes: WriteContext) -> None:
    """A prepare_for_update of the resource itself: it leaves the status alone."""
    keep(obj, old, "status")


def keep_spec(obj: JsonObject, old: JsonObject, attributes: WriteContext) -> None:
    """A prepare_for_update of a status subresource: it leaves the specification alone."""
    keep(obj, old, "spec")


def keep_spec_and_metadata(obj: JsonObject, old: JsonObject, attributes: WriteContext) -> None:
    """As `keep_spec`, for kinds whose status subresource changes no metadata but managedFields and finalizers."""
    keep(obj, old, "spec")
    meta, before = obj["metadata"], old["metadata"]
    for key in CLIENTS_METADATA:
        if key in before:
            meta[key] = deepcopy(before[key])
        else:
            meta.pop(key, None)


def keep_spec_and_all_metadata(obj: JsonObject, old: JsonObject, attributes: WriteContext) -> None:
    """As `keep_spec`, for kinds whose status subresource changes no metadata but managedFields."""
    keep(obj, old, "spec")
    managed = obj["metadata"].get("managedFields")
    obj["metadata"] = deepcopy(old["metadata"])
    obj["metadata"].pop("managedFields", None)
    if managed is not None:
        obj["metadata"]["managedFields"] = managed


def bump_generation(obj: JsonObject, old: JsonObject) -> None:
    """The desired state has changed."""
    obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def first_generation(obj: JsonObject, attributes: WriteContext) -> None:
    """A prepare_for_create of kinds that count generations."""
    obj["metadata"]["generation"] = 1


def counting(keys: Sequence[str] = ("spec",), *, status: bool = True) -> OnUpdate:
    """A prepare_for_update: keeps the status (if there is one), and counts a change of any of `keys`."""

    def prepare(obj: JsonObject, old: JsonObject, attributes: WriteContext) -> None:
        if status:
            keep(obj, old, "status")
        if any(not same(obj.get(key), old.get(key)) for key in keys):
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
    """The strategies of a kind whose own writers leave its status alone, and whose status has writers of its own."""
    status = Strategy(prepare_for_update=prepare, rechecks_metadata=rechecks_metadata, reset_fields=resets)
    if validate_status is not None:
        status = replace(status, validate_update=validate_status)
    return {"": replace(own, reset_fields=(("status",),)), "status": status}
