"""application/json: what verbs answer, as it is or indented."""

from __future__ import annotations

import orjson

from gateway.http.formats.format import Format
from gateway.jsontypes import JsonObject, loads

_METADATA = (
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)


def indent(body: bytes) -> bytes:
    """The same JSON for people: indented by two spaces, an object's name first, without a newline at its end."""
    value = loads(body)
    if isinstance(value, dict):
        items = value.get("items")
        for obj in (value, *(items if isinstance(items, list) else ())):
            _name_first(obj)
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)


def _name_first(obj: JsonObject) -> None:
    """Puts metadata into the order in which kube-apiserver writes it."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if isinstance(metadata, dict) and "name" in metadata:
        ordered = {key: metadata[key] for key in _METADATA if key in metadata}
        obj["metadata"] = ordered | metadata


FORMAT = Format("application/json", encode_pretty=indent, stream_type=b"application/json")
