"""Events: the looser rules of the core group, and the stricter ones of events.k8s.io."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import Dependents, Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import each, same
from gateway.validation.field import FieldError, invalid, required
from gateway.validation.formats import validate_qualified_name
from gateway.validation.go_structs import verbatim
from gateway.validation.names import (
    byte_length,
    is_dns1123_subdomain,
    name_is_path_segment,
)
from gateway.validation.objectmeta import IMMUTABLE, recheck_object_meta_update, validate_object_meta

LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128}
MAX_NOTE = 1024
# fields that an update through events.k8s.io may not change, in kube-apiserver's order: (JSON name, name in messages)
_FIXED = (
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("reason", "reason"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
_STRUCTS = {"involvedObject": "ObjectReference", "related": "ObjectReference", "source": "EventSource"}
_STRINGS = frozenset({"reason", "message", "type", "action", "reportingComponent", "reportingInstance"})


def _legacy(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    namespace, found = obj["metadata"].get("namespace", ""), list[FieldError]()
    involved = obj.get("involvedObject", {}).get("namespace", "")
    if not obj.get("eventTime"):
        agrees = namespace == involved if involved else namespace in ("", "default")
    else:
        agrees = bool(involved) or namespace in ("default", "kube-system")
    if not agrees:
        found.append(invalid("involvedObject.namespace", involved, "does not match event.namespace"))
    if obj.get("eventTime"):
        found += _new_style(obj, "reportingController" if context.resource.group else "reportingComponent")
    return found + each("namespace", namespace, is_dns1123_subdomain(namespace))


def _new_style(obj: JsonObject, controller: str) -> list[FieldError]:
    found: list[FieldError] = []
    name = obj.get("reportingComponent", "")
    if not name:
        found.append(required(controller))
    found += validate_qualified_name(controller, name)
    for key, limit in LIMITS.items():
        value = obj.get(key, "")
        if not value:
            found.append(required(key))
        if byte_length(value) > limit:
            found.append(invalid(key, "", f"can have at most {limit} characters"))
    if byte_length(obj.get("message", "")) > MAX_NOTE:
        found.append(invalid("message", "", f"can have at most {MAX_NOTE} characters"))
    return found


def _series(obj: JsonObject) -> list[FieldError]:
    series, found = obj.get("series"), list[FieldError]()
    if series is not None:
        if series.get("count", 0) < 2:
            found.append(invalid("series.count", "", "should be at least 2"))
        if not series.get("lastObservedTime"):
            found.append(required("series.lastObservedTime"))
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    found = _legacy(obj, context)
    if not context.resource.group:
        return found
    found += validate_object_meta(obj["metadata"], True) + _series(obj)
    if not obj.get("eventTime"):
        found.append(required("eventTime"))
    if obj.get("type") not in ("Normal", "Warning"):
        found.append(invalid("type", "", f"has invalid value: {obj.get('type', '')}"))
    source = obj.get("source") or {}
    unset: dict[str, Any] = {key: obj.get(key) for key in ("firstTimestamp", "lastTimestamp", "count")}
    unset["source"] = source.get("component") or source.get("host")
    return found + [invalid(key, "", "needs to be unset") for key, value in unset.items() if value]


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = _legacy(obj, context)
    if not context.resource.group:
        return found
    found += recheck_object_meta_update(obj["metadata"], old["metadata"])
    if not same(obj.get("series"), old.get("series")):
        found += _series(obj)
    for key, name in _FIXED:
        absent: Any = "" if key in _STRINGS else 0 if key == "count" else None
        if not same(obj.get(key), old.get(key)):
            value = obj.get(key, absent)
            found.append(invalid(name, verbatim(_STRUCTS[key], value) if key in _STRUCTS else value, IMMUTABLE))
    return found


STRATEGIES = {
    "": Strategy(
        validate=_validate,
        validate_update=_validate_update,
        standard_finalizers=False,
        metadata_last=True,
        validate_name=name_is_path_segment,
        rechecks_metadata=False,
        allow_create_on_update=True,
        dependents=Dependents.NONE,
        expires=True,
    )
}
