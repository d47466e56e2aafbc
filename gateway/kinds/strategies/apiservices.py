"""APIServices: a version that is served here or by a service (page "Kubernetes API Aggregation Layer")."""

from __future__ import annotations

import base64

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import keep_spec, keep_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import each, known
from gateway.validation.conditions import STATUSES
from gateway.validation.field import FieldError, go_quote, invalid, required
from gateway.validation.names import (
    is_dns1035_label,
    is_dns1123_subdomain,
    is_path_segment_name,
    name_is_path_segment,
    range_message,
)
from gateway.validation.objectmeta import validate_object_meta

MAX_GROUP_PRIORITY, MAX_VERSION_PRIORITY = 20000, 1000


def _name(obj: JsonObject) -> list[FieldError]:
    """The errors of name and generateName, which must be VERSION.GROUP."""
    spec, found = obj.get("spec", {}), list[FieldError]()
    wanted = f"{spec.get('version', '')}.{spec.get('group', '')}"
    for key in ("generateName", "name"):
        name = obj["metadata"].get(key, "")
        if name and name != wanted and not is_path_segment_name(name):
            text = f'must be `spec.version+"."+spec.group`: {go_quote(wanted)}'
            found.append(invalid(f"metadata.{key}", name, text))
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    spec, found = obj.get("spec", {}), _name(obj)
    group, version = spec.get("group", ""), spec.get("version", "")
    if not group and version != "v1":
        found.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    if group:
        found += each("spec.group", group, is_dns1123_subdomain(group))
    found += each("spec.version", version, is_dns1035_label(version))
    for key, most in (("groupPriorityMinimum", MAX_GROUP_PRIORITY), ("versionPriority", MAX_VERSION_PRIORITY)):
        priority = spec.get(key, 0)
        if not 0 < priority <= most:
            found.append(invalid(f"spec.{key}", priority, f"must be positive and less than {most}"))
    return found + _service(spec)


def _service(spec: JsonObject) -> list[FieldError]:
    service, insecure, found = spec.get("service"), spec.get("insecureSkipTLSVerify", False), list[FieldError]()
    bundle = base64.b64decode(spec.get("caBundle") or "")
    if service is None:
        if bundle:
            shown = f"{len(bundle)} bytes"
            found.append(invalid("spec.caBundle", shown, "local APIServices may not have a caBundle"))
        if insecure:
            message = "local APIServices may not have insecureSkipTLSVerify"
            found.append(invalid("spec.insecureSkipTLSVerify", insecure, message))
        return found
    found += [required(f"spec.service.{key}") for key in ("namespace", "name") if not service.get(key)]
    port = service.get("port", 0)
    if not 1 <= port <= 65535:
        found.append(invalid("spec.service.port", port, f"port is not valid: {range_message(1, 65535)}"))
    if insecure and bundle:
        found.append(invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present"))
    return found


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], False, name_is_path_segment, standard_finalizers=False)
    return found + _validate(obj, context)


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    conditions, order = (obj.get("status") or {}).get("conditions") or (), ("True", "False", "Unknown")
    statuses = [condition.get("status", "") for condition in conditions]
    return [
        error
        for i, status in enumerate(statuses)
        for error in known(f"status.conditions[{i}].status", status, order)
        if status not in STATUSES
    ]


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    obj["status"] = {}
    if "service" not in obj.get("spec", {}):
        local = {"type": "Available", "status": "True", "lastTransitionTime": context.now, "reason": "Local"}
        obj["status"] = {"conditions": [{**local, "message": "Local APIServices are always available"}]}


def _prepare_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_spec(obj, old, context)
    for key in ("labels", "annotations", "finalizers", "ownerReferences"):
        obj["metadata"].pop(key, None)
        if key in old["metadata"]:
            obj["metadata"][key] = old["metadata"][key]


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=keep_status,
        validate=_validate,
        validate_update=_validate_update,
        standard_finalizers=False,
        validate_name=name_is_path_segment,
        allow_unconditional_update=False,
        reset_fields=(("status",),),
    ),
    "status": Strategy(
        prepare_for_update=_prepare_status,
        validate_update=_validate_status,
        standard_finalizers=False,
        allow_unconditional_update=False,
        reset_fields=(("metadata",), ("spec",)),
    ),
}
