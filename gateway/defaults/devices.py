"""Defaults of the kinds of dynamic resource allocation (the group resource.k8s.io).

Source: Kubernetes API reference, ExactDeviceRequest, DeviceSubRequest, DeviceToleration, DeviceTaint.
"""

from __future__ import annotations

from datetime import UTC, datetime

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject


def _count(request: JsonObject) -> None:
    if request["allocationMode"] == "ExactCount" and not request.get("count"):
        request["count"] = 1


def _time_added(taint: JsonObject) -> None:
    if "timeAdded" not in taint:
        taint["timeAdded"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_TOLERATION = compile_table({"operator": "Equal"})
_REQUEST = compile_table({"allocationMode": "ExactCount", "tolerations[]": _TOLERATION}, _count)
_CLAIM_SPEC = compile_table(
    {"devices.requests[].exactly": _REQUEST, "devices.requests[].firstAvailable[]": _REQUEST},
)

DEFAULTERS: Defaulters = {
    ("resource.k8s.io/v1", "ResourceClaim"): compile_table(
        {"spec": _CLAIM_SPEC, "status.allocation.devices.results[].tolerations[]": _TOLERATION},
    ),
    ("resource.k8s.io/v1", "DeviceTaintRule"): compile_table({"spec.taint": _time_added}),
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): compile_table({"spec.spec": _CLAIM_SPEC}),
    ("resource.k8s.io/v1", "ResourceSlice"): compile_table(
        {
            "spec.devices[].nodeAllocatableResourceMappings{}.allocationMultiplier?": "1",
            "spec.devices[].taints[]": _time_added,
        }
    ),
}
