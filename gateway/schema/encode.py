"""Objects as bytes in etcd: kube-apiserver's JSON, in the one order that marks values as written by this server."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject, dumps
from gateway.schema.types import Kind, Type


def encode_stored(obj: JsonObject) -> bytes:
    """The stored value of an object: kind, apiVersion, then metadata with uid first and without resourceVersion.

    A value that starts so was decoded, defaulted and put in the storage version before; any other comes from another
    writer.
    """
    meta = obj.get("metadata") or {}
    ordered = {"uid": meta.get("uid", ""), **meta}
    ordered.pop("resourceVersion", None)
    ordered.pop("selfLink", None)
    stored = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": ordered}
    for key, value in obj.items():
        if key not in stored:
            stored[key] = value
    return dumps(stored)


def in_go_order(type_: Type, value: Any) -> Any:
    """The value with its members in the order in which Go writes them: struct fields as declared, map keys sorted."""
    if isinstance(value, dict) and type_.kind is Kind.STRUCT:
        return {name: in_go_order(field.type, value[name]) for name, field in type_.fields.items() if name in value}
    if isinstance(value, dict) and type_.kind is Kind.MAP and type_.elem is not None:
        elem = type_.elem
        return {name: in_go_order(elem, value[name]) for name in sorted(value)}
    if isinstance(value, list) and type_.elem is not None:
        elem = type_.elem
        return [in_go_order(elem, item) for item in value]
    return value
