"""The old annotation of nodes that names controllers whose pods the scheduler should avoid to place there."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.json_text import read_json

ANNOTATION = "scheduler.alpha.kubernetes.io/preferAvoidPods"


def validate_avoided_pods(meta: JsonObject, path: str) -> list[FieldError]:
    """Errors if the annotation in `meta` is invalid JSON, or names no controllers. `path` is the metadata's path."""
    text = (meta.get("annotations") or {}).get(ANNOTATION)
    if not text:
        return []
    try:
        value = read_json(text)
    except ValueError as error:
        return [invalid(f"{path}.annotations.AvoidPods", ANNOTATION, str(error))]
    errors = []
    for i, entry in enumerate(_list(value, "preferAvoidPods")):
        at = f"{path}.annotations.{ANNOTATION}[{i}].PodSignature"
        controller = _object(_object(entry, "podSignature"), "podController")
        if controller is None:
            errors.append(required(at))
        elif controller.get("controller") is not True:
            shown = controller.get("controller") or False
            errors.append(invalid(f"{at}.PodController.Controller", shown, "must point to a controller"))
    return errors


def _object(value: Any, key: str) -> JsonObject | None:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else None


def _list(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []
