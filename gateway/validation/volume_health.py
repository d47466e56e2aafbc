"""The health of volumes that is reported in the status of pods and of claims.

The gate of the fields is off: only an object that a server with the gate has stored has them. Most of their rules are
declarative (`gateway.kinds.declared_pod_rules`).
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.conditions import validate_reason
from gateway.validation.field import FieldError, not_found


def validate_pod_volume_health(reports: list[JsonObject], spec: JsonObject) -> list[FieldError]:
    """The errors of the reports in a pod's status; `spec` is the pod's."""
    volumes, found = {volume.get("name", "") for volume in spec.get("volumes") or ()}, list[FieldError]()
    for i, report in enumerate(reports):
        at, name = f"status.volumeHealth[{i}]", report.get("name", "")
        if name and name not in volumes:
            found.append(not_found(f"{at}.name", name))
        found += validate_volume_health(report, at)
    return found


def validate_volume_health(health: JsonObject, path: str) -> list[FieldError]:
    """The errors of the conditions of a volume."""
    found = list[FieldError]()
    for i, condition in enumerate(health.get("healthConditions") or ()):
        if reason := condition.get("reason"):
            found += validate_reason(reason, f"{path}.healthConditions[{i}].reason")
    return found
