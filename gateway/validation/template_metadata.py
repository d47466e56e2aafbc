"""Metadata of objects that are made from a template: labels and annotations only."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, forbidden
from gateway.validation.labels import validate_annotations, validate_labels

# field -> its name in messages, in the order of Go's ObjectMeta
_OTHERS = {
    "name": "name",
    "generateName": "generateName",
    "namespace": "namespace",
    "selfLink": "selfLink",
    "uid": "uID",
    "resourceVersion": "resourceVersion",
    "generation": "generation",
    "creationTimestamp": "creationTimestamp",
    "deletionTimestamp": "deletionTimestamp",
    "deletionGracePeriodSeconds": "deletionGracePeriodSeconds",
    "ownerReferences": "ownerReferences",
    "finalizers": "finalizers",
    "managedFields": "managedFields",
}


def validate_template_metadata(meta: JsonObject, path: str) -> list[FieldError]:
    found = validate_annotations(meta.get("annotations") or {}, f"{path}.annotations")
    found += validate_labels(meta.get("labels") or {}, f"{path}.labels")
    given = [shown for key, shown in _OTHERS.items() if meta.get(key) not in (None, "")]
    return found + [forbidden(f"{path}.{shown}", "cannot be set") for shown in given]
