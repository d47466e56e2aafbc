"""Objects as bytes: kube-apiserver's JSON, in Go's order; in etcd with the mark of this server's writes."""

from __future__ import annotations

from gateway.jsontypes import JsonObject, dumps, dumps_with_floats
from gateway.schema.catalog import META, type_for, type_of
from gateway.schema.order import in_go_order
from gateway.schema.types import Type, TypeKind
from storage.entry import MARK

_VERSIONED = ("resourceVersion", "selfLink")
_UNKNOWN = Type(TypeKind.ANY, "interface {}")  # whose order is its client's


def encode_stored(obj: JsonObject, kind: str, api_version: str, type_: Type | None = None) -> bytes:
    """The canonical value of an object of the storage version, which was decoded and defaulted.

    kind, apiVersion, then metadata, which has a uid and no resourceVersion, and the rest as Go orders it. The type is
    the catalog's where none is given.
    """
    metadata = obj["metadata"].copy()
    for name in _VERSIONED:
        metadata.pop(name, None)
    metadata.setdefault("uid", "")
    return _dumped({**obj, "kind": kind, "apiVersion": api_version, "metadata": metadata}, type_) + MARK


def encode_answer(obj: JsonObject, kind: str, api_version: str, type_: Type | None = None) -> bytes:
    """An object as a client gets it, in Go's order. The type is the catalog's where none is given."""
    return _dumped({**obj, "kind": kind, "apiVersion": api_version}, type_) + b"\n"


def _dumped(obj: JsonObject, type_: Type | None) -> bytes:
    ordered = _ordered(obj, type_)
    return dumps(ordered) if type_ is None else dumps_with_floats(ordered)  # only custom objects have floats


def _ordered(obj: JsonObject, type_: Type | None) -> JsonObject:
    """The object, which is taken apart, in the order of its type, but of any kind these come first: kind, apiVersion,
    and metadata in order.

    So what stands before the uid are plain strings, whatever labels and unknown fields are called.
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
