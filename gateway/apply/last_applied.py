"""Migration from kubectl's client-side apply, which stores the last applied configuration in an annotation.

Only for the field manager "kubectl" (Kubernetes, "Server-Side Apply", "Upgrading from client-side apply").
"""

from __future__ import annotations

from gateway.apply.comparison import compare
from gateway.apply.field_set import FieldSet, difference
from gateway.apply.nonconformity import nonconformity
from gateway.apply.walks import applied_paths
from gateway.jsontypes import JsonObject, dumps_sorted, go_escaped
from gateway.schema.outside import read_object
from gateway.schema.types import Type

MANAGER = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

_MAX_ANNOTATIONS = 256 * 1024


def unchanged_fields(live: JsonObject, type_: Type, api_version: str) -> FieldSet | None:
    """The fields of the last client-side apply whose live values are unchanged; None without a usable annotation."""
    applied = _last_applied(live)
    if applied is None or applied.get("apiVersion") != api_version:
        return None
    if nonconformity(applied, type_) or nonconformity(live, type_):
        return None
    walk = applied_paths(type_)
    fields = (walk(applied) if walk else None) or {}
    found = compare(applied, live, type_)
    return difference(difference(fields, found.changed), found.removed)


def refreshed(value: JsonObject, config: JsonObject) -> JsonObject:
    """`value` with its annotation set to `config`, if it has one. An annotation that gets too large is removed."""
    annotations: dict[str, str] = value["metadata"].get("annotations") or {}
    if not annotations.get(ANNOTATION):
        return value
    annotations = {**annotations, ANNOTATION: _as_annotation(config)}
    if sum(len(key.encode()) + len(text.encode()) for key, text in annotations.items()) > _MAX_ANNOTATIONS:
        del annotations[ANNOTATION]
    return {**value, "metadata": {**value["metadata"], "annotations": annotations}}


def _last_applied(live: JsonObject) -> JsonObject | None:
    text = (live["metadata"].get("annotations") or {}).get(ANNOTATION)
    if not text:
        return None
    return read_object(text.encode())


def _as_annotation(config: JsonObject) -> str:
    metadata: JsonObject = dict(config.get("metadata") or {})
    if ANNOTATION in (metadata.get("annotations") or {}):
        metadata["annotations"] = {key: v for key, v in metadata["annotations"].items() if key != ANNOTATION}
    encoded = dumps_sorted({**config, "metadata": metadata}).decode()
    return go_escaped(encoded) + "\n"
