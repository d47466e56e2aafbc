"""Custom objects as webhooks and policies have made them: no schema has decoded them, and anything may be in them."""

from __future__ import annotations

from gateway.http.status import internal_error
from gateway.jsontypes import JsonObject
from gateway.kinds.model import Version
from gateway.schema.catalog import META, type_of
from gateway.schema.decode import DecodeError, DecodeReport, decode

_OWNER_TEXTS = ("apiVersion", "kind", "name", "uid")
_OWNER_FLAGS = ("controller", "blockOwnerDeletion")


def settled(obj: JsonObject, version: Version, *, new: bool, converted: bool = False) -> JsonObject:
    """The object with readable metadata, and defaulted, as kube-apiserver reads it: members of metadata
    that cannot be read are as if they were not there, and nulls stay, to be refused by validation.

    One that is to be `converted` by a webhook keeps labels and annotations as they are: the conversion refuses those
    that are no texts. Raises StatusError 500 where the metadata of a `new` object is no object.
    """
    given = obj.get("metadata")
    obj["metadata"] = metadata_of(obj, new=new)
    if converted and isinstance(given, dict):
        obj["metadata"] |= {name: given[name] for name in ("labels", "annotations") if given.get(name) is not None}
    (version.default_applied or version.default)(obj)
    return obj


def metadata_of(obj: JsonObject, *, new: bool) -> JsonObject:
    """The metadata of an object as it is read. Raises StatusError 500 where that of a `new` one is no object."""
    given = obj.get("metadata")
    if isinstance(given, dict):
        return _readable(given)
    if new and "metadata" in obj:
        raise internal_error("system metadata was not initialized")
    return {}


def _readable(given: JsonObject) -> JsonObject:
    """Metadata as it is decoded, without what cannot be; owners are read member by member."""
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
    """An owner reference with those members that are of their types."""
    owner = {name: text if isinstance(text := given.get(name), str) else "" for name in _OWNER_TEXTS}
    return owner | {name: flag for name in _OWNER_FLAGS if isinstance(flag := given.get(name), bool)}
