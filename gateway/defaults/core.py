"""Defaults of the core kinds without pod specs and volumes; every start of the server needs them.

Source: Kubernetes API reference, each kind's page; "Automatic labelling" for namespaces; LimitRange for its defaults.
"""

from __future__ import annotations

from base64 import b64encode

from gateway.defaults.quantities import round_up
from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject


def _namespace_label(namespace: JsonObject) -> None:
    name = namespace["metadata"].get("name")
    if name:
        labels = namespace["metadata"].setdefault("labels", {})
        labels["kubernetes.io/metadata.name"] = name


def _allocatable(status: JsonObject) -> None:
    if "allocatable" not in status and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])


def _pod_cidrs(spec: JsonObject) -> None:
    """Makes `podCIDR` and the first of `podCIDRs` equal; where they differ, `podCIDR` wins."""
    single, several = spec.get("podCIDR"), spec.get("podCIDRs")
    if single and (not several or several[0] != single):
        spec["podCIDRs"] = [single]
    elif several and several[0]:
        spec["podCIDR"] = several[0]


def _container_limits(item: JsonObject) -> None:
    """Limits default to the maximum; requests default to the limits, or else to the minimum."""
    if item.get("type") != "Container":
        return
    limits = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
    if limits:
        item["default"] = limits
    if requests:
        item["defaultRequest"] = requests


def _string_data(secret: JsonObject) -> None:
    """Moves the values of `stringData`, which is write-only, into `data`; they replace values of the same key."""
    strings = secret.pop("stringData", None)
    if strings:
        data = secret.setdefault("data", {})
        for key, value in strings.items():
            data[key] = b64encode(value.encode()).decode()


DEFAULTERS: Defaulters = {
    ("v1", "Secret"): compile_table({"type": "Opaque"}, _string_data),
    ("v1", "Namespace"): compile_table({"status+.phase": "Active"}, _namespace_label),
    ("v1", "Node"): compile_table(
        {
            "spec": _pod_cidrs,
            "status": _allocatable,
            "status.capacity": round_up,
            "status.allocatable": round_up,
        }
    ),
    ("v1", "LimitRange"): compile_table(
        {
            "spec.limits[]": _container_limits,
            "spec.limits[].max": round_up,
            "spec.limits[].min": round_up,
            "spec.limits[].default": round_up,
            "spec.limits[].defaultRequest": round_up,
            "spec.limits[].maxLimitRequestRatio": round_up,
        }
    ),
    ("v1", "ResourceQuota"): compile_table(
        {"spec.hard": round_up, "status.hard": round_up, "status.used": round_up},
    ),
    ("v1", "Endpoints"): compile_table({"subsets[].ports[].protocol": "TCP"}),
}
