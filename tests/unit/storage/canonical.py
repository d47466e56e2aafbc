"""Values as this server stores them, and a resource for them."""

from __future__ import annotations

from typing import Any

import orjson

from storage.cache import ResourceCache
from storage.entry import MARK, LabelsAndFields, ResourceSpec

ROOT = b"/registry/"
PREFIX = b"/registry/pods/"
HEAD = b'{"kind":"Pod","apiVersion":"v1",'


def canonical(name: str, uid: str = "u-1", namespace: str = "", **rest: Any) -> bytes:
    """A canonical value. `rest` has the members of the metadata after the uid; `spec` is the object's spec."""
    spec = rest.pop("spec", {})
    place = {"namespace": namespace} if namespace else {}
    metadata = {"name": name, **place, "uid": uid, **rest}
    return orjson.dumps({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec}) + MARK


def canonicalise(value: bytes) -> bytes:
    """A substitute for the gateway's decoding and defaulting: keeps the name, sets the default phase."""
    obj = orjson.loads(value)
    if not isinstance(obj, dict):
        raise ValueError("no object")
    metadata = obj["metadata"]
    place, labels = metadata.get("namespace", ""), metadata.get("labels", {})
    return canonical(metadata["name"], namespace=place, labels=labels, spec={"phase": "defaulted"})


def labels_and_fields_of(obj: dict[str, Any]) -> LabelsAndFields:
    metadata = obj["metadata"]
    return LabelsAndFields(metadata.get("labels", {}), {"metadata.name": metadata["name"]})


SPEC = ResourceSpec(PREFIX, HEAD, canonicalise, labels_and_fields_of)


def pods() -> ResourceCache:
    """An empty cache of pods."""
    return ResourceCache(SPEC)


def key(namespace: str, name: str) -> bytes:
    return PREFIX + f"{namespace}/{name}".encode()


def label(entry_tail: bytes) -> str:
    """The value of the label `v` of an entry's tail."""
    return str(orjson.loads(b"{" + entry_tail)["metadata"]["labels"]["v"])
