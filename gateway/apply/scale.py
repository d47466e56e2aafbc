"""Converts managedFields between an object and its Scale, which has one of the object's fields as spec.replicas."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.apply.entries import identity_of, in_order, new_entry
from gateway.apply.field_set import FieldSet, difference, has, of_paths
from gateway.jsontypes import JsonObject

SCALE_VERSION = "autoscaling/v1"

ReplicasPaths = Mapping[str, tuple[str, ...]]
"""By apiVersion of the object: the path of field names to its number of replicas."""

_IN_SCALE = of_paths(("spec", "replicas"))
_PATH_IN_SCALE = ("f:spec", "f:replicas")


def to_scale(entries: list[JsonObject], replicas: ReplicasPaths) -> list[JsonObject]:
    """The managedFields of the Scale: the managers that own the replicas. Of each, the last entry counts."""
    found = []
    for entry in {identity_of(entry): entry for entry in entries}.values():
        path = replicas.get(entry["apiVersion"])
        if path and has(_fields(entry), _elements(path)):
            found.append(new_entry(identity_of(entry), SCALE_VERSION, entry.get("time"), _IN_SCALE))
    return in_order(found)


def to_parent(
    parent: list[JsonObject], scale: list[JsonObject], api_version: str, replicas: ReplicasPaths
) -> list[JsonObject]:
    """The object's managedFields after a write to its Scale. `scale`: the managedFields of the written Scale.

    Managers that lost the replicas in the Scale lose them in the object. An Update entry of the Scale has the Scale's
    version, so it never matches an entry of the object. Its manager gets a new entry for the replicas alone, without a
    time, as in kube-apiserver.
    """
    writers = {identity_of(entry): entry for entry in scale}
    result: list[JsonObject] = []
    for entry in parent:
        version = entry["apiVersion"]
        if version not in replicas:
            continue
        path = replicas[version]
        if not path or not has(_fields(entry), _elements(path)):
            result.append(entry)
            continue
        if identity_of(entry) in writers:
            del writers[identity_of(entry)]
            result.append(entry)
            continue
        fields = difference(_fields(entry), of_paths(path))
        if fields:
            result.append({**entry, "fieldsV1": fields})
    times = {identity_of(entry): entry.get("time") for entry in parent}
    for identity, entry in writers.items():
        if has(_fields(entry), _PATH_IN_SCALE):
            fields = of_paths(replicas[api_version])
            result.append(new_entry(identity, api_version, times.get(identity), fields))
    return in_order(result)


def _fields(entry: JsonObject) -> FieldSet:
    fields: FieldSet = entry.get("fieldsV1") or {}
    return fields


def _elements(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"f:{name}" for name in path)
