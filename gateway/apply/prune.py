"""Removes from the merged object the fields that the manager applied before but not now, unless others own them."""

from __future__ import annotations

from functools import reduce
from typing import Any

from gateway.apply.field_set import FieldSet, difference, intersection, union
from gateway.apply.in_versions import ToVersion
from gateway.apply.removal import with_named_fields, without
from gateway.apply.walks import applied_paths
from gateway.jsontypes import JsonObject
from gateway.schema.types import Type

_BACK, _DANGLING = "failed add back owned items: ", "failed add back dangling items: "


def pruned(
    merged: JsonObject,
    previous: JsonObject,
    fields: FieldSet,
    others: dict[str, list[FieldSet]],
    type_: Type,
    api_version: str,
    convert: ToVersion | None,
) -> JsonObject:
    """`merged` without the fields that the manager does not apply any more. Raises ValueError if it can't be converted.

    `previous`: the manager's entry before this apply. `fields`: all fields of the configuration, including the object's
    name. `others`: the field sets of other managers, by version. List items and maps stay if any manager still owns a
    field in them.
    """
    last: FieldSet = previous.get("fieldsV1") or {}
    version = previous["apiVersion"]
    if version == api_version and not difference(last, fields):
        return merged
    versioned = _in_version(merged, version, type_, api_version, convert, "merged object to last applied version")
    if versioned is None:
        return merged
    start, start_type = versioned
    owned = {key: list(sets) for key, sets in others.items()}
    owned.setdefault(api_version, []).append(fields)
    result = without(start, with_named_fields(last, start_type), start_type) or {}
    at = version
    for owner_version in [version, *(key for key in owned if key != version)]:
        if owner_version not in owned:
            continue
        named = f"object at version {owner_version}"
        full = _in_version(start, owner_version, start_type, version, convert, f"merged {named}", _BACK)
        part = _in_version(result, owner_version, start_type, at, convert, f"pruned {named}", _BACK)
        if full is None or part is None:
            continue
        at = owner_version
        result = _restored(full[0], part[0], reduce(union, owned[owner_version], {}), full[1])
    back = _in_version(result, version, start_type, at, convert, "pruned object to last applied version", _DANGLING)
    result = _without_dangling(start, back[0] if back else result, last, start_type)
    final = _in_version(result, api_version, start_type, version, convert)
    return final[0] if final else result


def _in_version(
    value: JsonObject,
    version: str,
    type_: Type,
    current: str,
    convert: ToVersion | None,
    what: str = "",
    step: str = "",
) -> tuple[JsonObject, Type] | None:
    """A value and its type in another version, None if that does not exist any more.

    Raises ValueError with a message made of `step`, `what` and the error.
    """
    if version == current or convert is None:
        return value, type_
    try:
        return convert(value, version)
    except ValueError as error:
        raise ValueError(f"{step}{f'failed to convert {what}: ' if what else ''}{error}") from None


def _all(value: Any, type_: Type) -> FieldSet:
    walk = applied_paths(type_)
    return with_named_fields((walk(value) if walk else None) or {}, type_)


def _restored(merged: JsonObject, part: JsonObject, owned: FieldSet, type_: Type) -> JsonObject:
    """`part` with the fields of `merged` restored that are in `owned`."""
    keep = union(_all(part, type_), with_named_fields(owned, type_))
    return without(merged, difference(_all(merged, type_), keep), type_) or {}


def _without_dangling(merged: JsonObject, part: JsonObject, last: FieldSet, type_: Type) -> JsonObject:
    """`merged` without the fields that are not in `part`, if they are in `last`, the manager's previous fields."""
    gone = intersection(difference(_all(merged, type_), _all(part, type_)), with_named_fields(last, type_))
    return without(merged, gone, type_) or {}
