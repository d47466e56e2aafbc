"""CSINodes: the drivers of a node. An update may only change a driver's `allocatable`. Later minors have a status."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import keep_spec_and_metadata, keep_status
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.validation.checks import not_negative, same
from gateway.validation.field import FieldError, duplicate, first_places, invalid, required
from gateway.validation.formats import validate_qualified_name
from gateway.validation.go_structs import verbatim
from gateway.validation.names import byte_length
from gateway.validation.objectmeta import IMMUTABLE, validate_object_meta
from gateway.validation.storage_health import validate_storage_health
from gateway.validation.volume_sources import validate_csi_driver_name

MAX_NODE_ID = 256


def _driver(driver: JsonObject, path: str, names: set[str]) -> list[FieldError]:
    name, node = driver.get("name", ""), driver.get("nodeID", "")
    found = validate_csi_driver_name(name, f"{path}.name")
    if not node:
        found.append(required(f"{path}.nodeID"))
    if byte_length(node) > MAX_NODE_ID:
        found.append(invalid(f"{path}.nodeID", node, f"must be {MAX_NODE_ID} characters or less"))
    if (count := (driver.get("allocatable") or {}).get("count")) is not None:
        found += not_negative(f"{path}.allocatable.count", count)
    if name in names:
        found.append(duplicate(f"{path}.name", name))
    names.add(name)
    keys = driver.get("topologyKeys") or []
    first = first_places(keys)
    for i, key in enumerate(keys):
        if not key:
            found.append(required(path))
        if first[key] < i:
            found.append(duplicate(path, key))
        found += validate_qualified_name(path, key)
    return found


def _drivers(obj: JsonObject) -> list[JsonObject]:
    drivers: list[JsonObject] = obj.get("spec", {}).get("drivers") or []
    return drivers


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    names: set[str] = set()
    return [error for i, driver in enumerate(_drivers(obj)) for error in _driver(driver, f"spec.drivers[{i}]", names)]


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    found = validate_object_meta(obj["metadata"], False) + _validate(obj, context)
    if not context.enabled("UpdatesJudgedOnce"):
        found += found
    for before in _drivers(old):
        for driver in _drivers(obj):
            if driver.get("name") == before.get("name") and not same(_fixed(driver), _fixed(before)):
                found.append(
                    invalid("spec.drivers", verbatim("io.k8s.api.storage.v1.CSINodeDriver", _fixed(driver)), IMMUTABLE)
                )
    return found


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    """Empties the status. A minor whose type has no status gets none."""
    if "status" in obj:
        obj["status"] = {}


def _fixed(driver: JsonObject) -> JsonObject:
    return {key: value for key, value in driver.items() if key != "allocatable"}


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return validate_storage_health((obj.get("status") or {}).get("storageHealth") or [], "status.storageHealth")


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=keep_status,
        validate=_validate,
        validate_update=_validate_update,
        rechecks_metadata=False,
        allow_unconditional_update=False,
        returns_deleted=True,
        reset_fields=(("status",),),
    ),
    "status": Strategy(
        prepare_for_update=keep_spec_and_metadata,
        validate_update=_validate_status,
        allow_unconditional_update=False,
        reset_fields=(("metadata",), ("spec",)),
    ),
}
