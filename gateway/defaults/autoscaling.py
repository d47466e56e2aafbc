"""Defaults of horizontal pod autoscalers, which differ between the two served versions.

Source: Kubernetes API reference, HorizontalPodAutoscalerSpec v1 and v2; "Horizontal Pod Autoscaling", default behavior.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject
from gateway.schema.outside import read_json

_CPU_PERCENT = 80
_ANNOTATION = "autoscaling.alpha.kubernetes.io/"
_METRICS = f"{_ANNOTATION}metrics"

# Version 1 carries in these annotations what it has no fields for; version 2 has the fields, and drops the annotations.
_ROUND_TRIP = frozenset(
    f"{_ANNOTATION}{name}"
    for name in (
        "metrics",
        "behavior",
        "current-metrics",
        "conditions",
        "scale-down-tolerance",
        "scale-up-tolerance",
    )
)


def _cpu_target(autoscaler: JsonObject) -> None:
    """Sets the CPU target of version 1 unless the annotation holds metrics."""
    spec = autoscaler["spec"]
    if "targetCPUUtilizationPercentage" not in spec:
        annotations = autoscaler["metadata"].get("annotations") or {}
        if not (_METRICS in annotations and _holds_metrics(annotations[_METRICS])):
            spec["targetCPUUtilizationPercentage"] = _CPU_PERCENT


def _holds_metrics(text: str) -> bool:
    try:
        value = read_json(text.encode())
    except ValueError:
        return False
    return isinstance(value, list) and bool(value)


def _drop_round_trip_annotations(metadata: JsonObject) -> None:
    annotations = metadata.get("annotations")
    if annotations and not _ROUND_TRIP.isdisjoint(annotations):
        metadata["annotations"] = {key: value for key, value in annotations.items() if key not in _ROUND_TRIP}
        if not metadata["annotations"]:
            del metadata["annotations"]


def _default_v1(autoscaler: JsonObject) -> None:
    _MIN_REPLICAS(autoscaler)
    _cpu_target(autoscaler)


_MIN_REPLICAS = compile_table({"spec+.minReplicas?": 1})

_CPU_METRIC = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": _CPU_PERCENT}},
}

DEFAULTERS: Defaulters = {
    ("autoscaling/v1", "HorizontalPodAutoscaler"): _default_v1,
    ("autoscaling/v2", "HorizontalPodAutoscaler"): compile_table(
        {
            "metadata": _drop_round_trip_annotations,
            "spec+.minReplicas?": 1,
            "spec+.metrics": [_CPU_METRIC],
            "spec+.behavior.scaleUp+.stabilizationWindowSeconds?": 0,
            "spec+.behavior.scaleUp+.selectPolicy?": "Max",
            "spec+.behavior.scaleUp+.policies?": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
            "spec+.behavior.scaleDown+.selectPolicy?": "Max",
            "spec+.behavior.scaleDown+.policies?": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        }
    ),
}
