"""RuntimeClasses: the handler is immutable (page "Runtime Class")."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import each, immutable
from gateway.validation.field import FieldError, duplicate, required, reworded
from gateway.validation.go_structs import verbatim
from gateway.validation.labels import validate_labels
from gateway.validation.names import is_dns1123_label
from gateway.validation.node_labels import DEPRECATED
from gateway.validation.objectmeta import recheck_object_meta_update, validate_object_meta
from gateway.validation.pod_options import PodOptions
from gateway.validation.resource_requirements import validate_resource_requirements
from gateway.validation.scheduling import validate_tolerations

_KEYS = ("key", "operator", "value", "effect")


def _scheduling(scheduling: JsonObject) -> list[FieldError]:
    found = validate_labels(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    tolerations: list[JsonObject] = scheduling.get("tolerations") or []
    validate_tolerations(tolerations, "scheduling.tolerations", found, PodOptions())
    seen: set[tuple[str, ...]] = set()
    for i, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name, "") for name in _KEYS)
        if key in seen:
            found.append(duplicate(f"scheduling.tolerations[{i}]", verbatim("Toleration", toleration)))
        seen.add(key)
    return found


def _handler(handler: str) -> list[FieldError]:
    found = each("handler", handler, is_dns1123_label(handler))
    return found if handler else [reworded("MissingValuesRequired", found[0], partial(required, "handler"))]


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    found = _handler(obj.get("handler", ""))
    if (overhead := obj.get("overhead")) is not None:
        validate_resource_requirements({"limits": overhead.get("podFixed")}, "overhead", found)
    if (scheduling := obj.get("scheduling")) is not None:
        found += _scheduling(scheduling)
    return found


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], False, standard_finalizers=False) + _validate(obj, context)
    found += recheck_object_meta_update(obj["metadata"], old["metadata"], standard_finalizers=False)
    return found + immutable("handler", obj.get("handler", ""), old.get("handler", ""))


def _warnings(obj: JsonObject, context: WriteContext) -> Iterable[str]:
    selector = (obj.get("scheduling") or {}).get("nodeSelector") or ()
    return (f"scheduling.nodeSelector: {DEPRECATED[key]}" for key in selector if key in DEPRECATED)


STRATEGIES = {
    "": Strategy(
        validate=_validate,
        validate_update=_validate_update,
        standard_finalizers=False,
        warnings_on_create=_warnings,
        warnings_on_update=on_update(_warnings),
        rechecks_metadata=False,
        allow_create_on_update=True,
        allow_unconditional_update=False,
    )
}
