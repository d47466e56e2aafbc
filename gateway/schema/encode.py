"""Writes objects as JSON, with members in Go's order. Values for etcd end with `MARK`, as this server's writes do."""

from __future__ import annotations

from gateway.jsontypes import JsonObject, dumps, dumps_with_floats
from gateway.schema.catalog import META, type_for, type_of
from gateway.schema.order import in_go_order
from gateway.schema.types import Type, TypeKind
from storage.entry import MARK

_VERSIONED = ("resourceVersion", "selfLink")
_UNKNOWN = Type(TypeKind.ANY, "interface {}")  # members keep the client's order


def encode_stored(obj: JsonObject, kind: str, api_version: str, type_: Type | None = None) -> bytes:
    """The value in etcd of a decoded and defaulted object of the storage version.

    It has kind, apiVersion, metadata (with a uid, without resourceVersion), then the other members in Go's order.
    Without `type_`, the type is the catalog's.
    """
    metadata = obj["metadata"].copy()
    for name in _VERSIONED:
        metadata.pop(name, None)
    metadata.setdefault("uid", "")
    return _dumped({**obj, "kind": kind, "apiVersion": api_version, "metadata": metadata}, type_) + MARK


def encode_answer(obj: JsonObject, kind: str, api_version: str, type_: Type | None = None) -> bytes:
    """The JSON of an object in a response, in Go's order. Without `type_`, the type is the catalog's."""
    return _dumped({**obj, "kind": kind, "apiVersion": api_version}, type_) + b"\n"


def _dumped(obj: JsonObject, type_: Type | None) -> bytes:
    ordered = _ordered(obj, type_)
    return dumps(ordered) if type_ is None else dumps_with_floats(ordered)  # only custom objects have floats


def _ordered(obj: JsonObject, type_: Type | None) -> JsonObject:
    """The object with kind, apiVersion and metadata first, and the other members in the order of its type.

    So only plain strings stand before the uid, whatever the names of labels and unknown fields are. Removes the first
    members from `obj`.
    """
    if type_ is None:
        type_ = _catalog_type(obj["kind"], obj["apiVersion"])
    first: JsonObject = {"kind": obj.pop("kind"), "apiVersion": obj.pop("apiVersion")}
    if "metadata" in obj:
        first["metadata"] = in_go_order(type_of(META + "ObjectMeta"), obj.pop("metadata"))
    rest: JsonObject = in_go_order(type_, obj)
    return first | rest


def _catalog_type(kind: str, api_version: str) -> Type:
    group, _, version = api_version.rpartition("/")
    try:
        return type_for(group, version, kind)
    except KeyError:
        return _UNKNOWN
