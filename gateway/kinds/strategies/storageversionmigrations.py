"""StorageVersionMigrations: a resource whose objects are to be rewritten in the current storage version (KEP-4192)."""

from __future__ import annotations

import re
from typing import Any

from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.strategies.status import empty_status, keep_spec_and_metadata, keep_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.schema.catalog import META, type_of
from gateway.schema.order import in_go_order
from gateway.validation.conditions import validate_conditions
from gateway.validation.field import FieldError, Verbatim, invalid, required
from gateway.validation.names import is_dns1035_label, is_dns1123_subdomain
from gateway.validation.objectmeta import IMMUTABLE, validate_object_meta

_RESOURCE, _CONDITIONS, _VERSION = "spec.resource", "status.conditions", "status.resourceVersion"
_is_version = re.compile("[1-9][0-9]*", re.ASCII).fullmatch


def _resource(obj: JsonObject) -> JsonObject:
    resource: JsonObject = (obj.get("spec") or {}).get("resource") or {}
    return {"group": resource.get("group", ""), "resource": resource.get("resource", "")}


def _judged(obj: JsonObject) -> list[FieldError]:
    group, resource = _resource(obj).values()
    found = list[FieldError]()
    if not resource:
        found.append(required(f"{_RESOURCE}.resource", "resource is required to be set"))
    elif messages := is_dns1035_label(resource):
        found.append(invalid(f"{_RESOURCE}.resource", resource, ",".join(messages)))
    if group and (messages := is_dns1123_subdomain(group)):
        found.append(invalid(f"{_RESOURCE}.group", group, ",".join(messages)))
    return found


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _judged(obj)


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], False) + _judged(obj)
    resource = _resource(obj)
    if resource != _resource(old):
        found.append(invalid("spec", _shown({"Resource": resource}), IMMUTABLE))
    return found


def _shown(value: Any) -> Verbatim:
    return Verbatim(dumps(value).decode())


def _status(obj: JsonObject) -> JsonObject:
    status: JsonObject = obj.get("status") or {}
    return status


def _is_true(obj: JsonObject, kind: str) -> bool:
    """Whether the first condition of a type has the status True."""
    for each in _status(obj).get("conditions") or ():
        if each.get("type") == kind:
            return bool(each.get("status") == "True")
    return False


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    version, before = _status(obj).get("resourceVersion", ""), _status(old).get("resourceVersion", "")
    conditions, found = _status(obj).get("conditions") or [], list[FieldError]()
    if version and not _is_version(version):
        found.append(invalid(_VERSION, version, f"resource version is not well formed: {version}"))
    found += validate_conditions(conditions, _CONDITIONS)
    if before and version != before:
        found.append(invalid(_VERSION, version, IMMUTABLE))
    wrong = []
    if _is_true(obj, "Succeeded") and _is_true(obj, "Failed"):
        wrong.append("Both success and failed conditions cannot be true at the same time")
    for kind, word in (("Succeeded", "Success"), ("Failed", "Failed")):
        if _is_true(old, kind) and not _is_true(obj, kind):
            wrong.append(f"{word} condition cannot be set to false once it is true")
    ordered = [in_go_order(type_of(META + "Condition"), dict(each)) for each in conditions] if wrong else []
    return found + [invalid(_CONDITIONS, _shown(ordered), each) for each in wrong]


STRATEGIES = {
    "": Strategy(
        prepare_for_create=empty_status({}),
        prepare_for_update=keep_status,
        validate=_validate,
        validate_update=_validate_update,
        reset_fields=(("status",),),
        allow_unconditional_update=False,
    ),
    "status": Strategy(
        prepare_for_update=keep_spec_and_metadata,
        validate_update=_validate_status,
        reset_fields=(("metadata",), ("spec",)),
        allow_unconditional_update=False,
    ),
}
