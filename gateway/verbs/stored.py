"""How objects are written down: the canonical JSON value of etcd, and answers made from it without parsing."""

from __future__ import annotations

from gateway.jsontypes import JsonObject, dumps

_METADATA = b'"metadata":{'


def head_of(kind: str, api_version: str) -> bytes:
    """How every stored object of a kind starts."""
    return f'{{"kind":"{kind}","apiVersion":"{api_version}",'.encode()


def value_of(obj: JsonObject, kind: str, api_version: str) -> bytes:
    """The canonical value of an object: kind, apiVersion, metadata with the uid first and no resourceVersion."""
    meta = obj["metadata"]
    ordered = {"uid": meta.get("uid", "")}
    ordered.update(meta)
    ordered.pop("resourceVersion", None)
    ordered.pop("selfLink", None)
    stored = {"kind": kind, "apiVersion": api_version, "metadata": ordered}
    for key, value in obj.items():
        if key not in stored:
            stored[key] = value
    return dumps(stored)


def answer_of(value: bytes, head: bytes, revision: int) -> bytes:
    """The object as a client sees it: a canonical value with its resourceVersion put in."""
    start = len(head) + len(_METADATA)
    if not revision:
        return value
    return b'%b"resourceVersion":"%d",%b' % (value[:start], revision, value[start:])
