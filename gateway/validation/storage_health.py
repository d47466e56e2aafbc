"""The health of storage that CSI drivers report in the status of a CSINode."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.checks import known
from gateway.validation.conditions import validate_reason_and_message
from gateway.validation.field import FieldError, duplicate, too_many
from gateway.validation.volume_sources import validate_csi_driver_name

MAX_CONDITIONS, MAX_REASON, MAX_MESSAGE = 16, 256, 1024
STATUSES = ("StorageDegraded", "StorageUnreachable")
ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Filesystem", "Block")


def validate_storage_health(reports: list[JsonObject], path: str) -> list[FieldError]:
    """The errors of the reports, one of each driver."""
    found, seen = list[FieldError](), set[str]()
    for i, report in enumerate(reports):
        name, at = report.get("name", ""), f"{path}[{i}]"
        if name in seen:
            found.append(duplicate(at, name))
        seen.add(name)
        found += validate_csi_driver_name(name, f"{at}.name")
        conditions = report.get("healthConditions") or []
        if len(conditions) > MAX_CONDITIONS:
            found.append(too_many(f"{at}.healthConditions", len(conditions), MAX_CONDITIONS))
            continue
        for j, condition in enumerate(conditions):
            found += _condition(condition, f"{at}.healthConditions[{j}]")
    return found


def _condition(condition: JsonObject, path: str) -> list[FieldError]:
    found = known(f"{path}.status", condition.get("status", ""), STATUSES)
    found += validate_reason_and_message(condition, path, MAX_REASON, MAX_MESSAGE)
    for key, modes in (("accessMode", ACCESS_MODES), ("volumeMode", VOLUME_MODES)):
        if (mode := condition.get(key)) is not None:
            found += known(f"{path}.{key}", mode, modes)
    return found
