"""Objects as bytes: kube-apiserver's JSON, in Go's order; in etcd with the mark of this server's writes."""

from __future__ import annotations

from functools import cache

from gateway.jsontypes import JsonObject, dumps
from gateway.schema.catalog import type_for
from gateway.schema.order import Order, orderer
from storage.entry import MARK

_VERSIONED = ("resourceVersion", "selfLink")


@cache
def _order_of(kind: str, api_version: str) -> Order | None:
    group, _, version = api_version.rpartition("/")
    try:
        return orderer(type_for(group, version, kind))
    except KeyError:  # a custom resource: its order is its client's
        return None


def encode_stored(obj: JsonObject, kind: str, api_version: str) -> bytes:
    """The canonical value of an object of the storage version, which was decoded and defaulted.

    kind, apiVersion, then metadata, which has a uid and no resourceVersion, and the rest as Go orders it.
    """
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _VERSIONED}
    metadata.setdefault("uid", "")
    stored = {"kind": kind, "apiVersion": api_version, "metadata": metadata}
    for name, value in obj.items():
        if name not in stored:
            stored[name] = value
    order = _order_of(kind, api_version)
    return dumps(stored if order is None else order(stored)) + MARK


def encode_answer(obj: JsonObject, kind: str, api_version: str) -> bytes:
    """An object as a client gets it, in Go's order."""
    order = _order_of(kind, api_version)
    return dumps(obj if order is None else order(obj)) + b"\n"
