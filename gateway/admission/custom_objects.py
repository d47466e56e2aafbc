"""Reads custom objects that webhooks and policies have changed. No schema has decoded them: they may hold anything."""

from __future__ import annotations

from gateway.http.status import internal_error
from gateway.jsontypes import JsonObject
from gateway.kinds.model import Version
from gateway.schema.catalog import META, type_of
from gateway.schema.decode import DecodeError, DecodeReport, decode

_OWNER_TEXTS = ("apiVersion", "kind", "name", "uid")
_OWNER_FLAGS = ("controller", "blockOwnerDeletion")


def set_defaults(obj: JsonObject, version: Version, *, new: bool, converted: bool = False) -> JsonObject:
    """Decodes the metadata of a custom object and sets its defaults, in place, as kube-apiserver does. Returns it.

    Members of metadata that cannot be decoded are dropped. Nulls stay, so that validation refuses them. With
    `converted` (a conversion webhook comes next), labels and annotations stay as they are: the conversion refuses
    values that are not strings. Raises StatusError 500 if the metadata of a `new` object is not a JSON object.
    """
    given = obj.get("metadata")
    obj["metadata"] = metadata_of(obj, new=new)
    if converted and isinstance(given, dict):
        obj["metadata"] |= {name: given[name] for name in ("labels", "annotations") if given.get(name) is not None}
    (version.default_applied or version.default)(obj)
    return obj


def metadata_of(obj: JsonObject, *, new: bool) -> JsonObject:
    """The decoded metadata of an object. Raises StatusError 500 if that of a `new` object is not a JSON object."""
    given = obj.get("metadata")
    if isinstance(given, dict):
        return _readable(given)
    if new and "metadata" in obj:
        raise internal_error("system metadata was not initialized")
    return {}


def _readable(given: JsonObject) -> JsonObject:
    """The members of metadata that can be decoded. Owner references are decoded member by member."""
    type_ = type_of(f"{META}ObjectMeta")
    try:
        return decode(type_, given, DecodeReport())
    except DecodeError:
        found: JsonObject = {}
    for name, value in given.items():
        try:
            found |= decode(type_, {name: value}, DecodeReport())
        except DecodeError:
            if name == "ownerReferences" and isinstance(value, list) and all(isinstance(each, dict) for each in value):
                found[name] = [_owner(each) for each in value]
    return found


def _owner(given: JsonObject) -> JsonObject:
    """An owner reference with the members that have the right type. A text of a wrong type is empty."""
    owner = {name: text if isinstance(text := given.get(name), str) else "" for name in _OWNER_TEXTS}
    return owner | {name: flag for name in _OWNER_FLAGS if isinstance(flag := given.get(name), bool)}
