"""Columns of autoscalers, made from the autoscaling/v2 form in every version, and of scales."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Cell,
    Columns,
    age,
    column,
    integer,
    name_of,
    part,
)

_MOST = 2  # metrics that are shown
_SOURCES = {
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _autoscaler(obj: JsonObject) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    target, least = part(spec, "scaleTargetRef"), spec.get("minReplicas")
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec.get("metrics") or [], status.get("currentMetrics") or []),
        UNSET if least is None else str(least),
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(obj),
    ]


def _metrics(metrics: list[JsonObject], current: list[JsonObject]) -> str:
    if not metrics:
        return NONE
    shown = [_metric(metric, current[i] if i < len(current) else {}) for i, metric in enumerate(metrics[:_MOST])]
    more = f" + {len(metrics) - _MOST} more..." if len(metrics) > _MOST else ""
    return ", ".join(shown) + more


def _metric(metric: JsonObject, status: JsonObject) -> str:
    """The current value and the target of a metric: "CURRENT/TARGET"."""
    source = _SOURCES.get(metric.get("type", ""))
    if source is None:
        return "<unknown type>"
    target, present = part(metric, source, "target"), status.get(source)
    current = part(present or {}, "current")
    average = target.get("averageValue")
    if source == "pods":
        return f"{_average(present)}/{average or '<nil>'}"
    if source in ("resource", "containerResource"):
        name = part(metric, source).get("name", "")
        if average is not None:
            return f"{name}: {_average(present)}/{average}"
        use, wanted = current.get("averageUtilization"), target.get("averageUtilization")
        return f"{name}: {UNKNOWN if use is None else f'{use}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"
    if average is not None:
        return f"{current.get('averageValue', UNKNOWN)}/{average} (avg)"
    return f"{_value(present)}/{target.get('value') or '<nil>'}"


def _average(present: JsonObject | None) -> str:
    return UNKNOWN if present is None else part(present, "current").get("averageValue", "<nil>")


def _value(present: JsonObject | None) -> str:
    return UNKNOWN if present is None else part(present, "current").get("value", "<nil>")


def scale_cells(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), part(obj, "spec").get("replicas", 0), part(obj, "status").get("replicas", 0), age(obj)]


_SPEC, _STATUS = "autoscaling.v2.HorizontalPodAutoscalerSpec", "autoscaling.v2.HorizontalPodAutoscalerStatus"
COLUMNS = {
    ("autoscaling", "HorizontalPodAutoscaler"): Columns(
        (
            NAME,
            column("Reference", f"{_SPEC}.scaleTargetRef"),
            column("Targets", f"{_SPEC}.metrics"),
            column("MinPods", f"{_SPEC}.minReplicas"),
            column("MaxPods", f"{_SPEC}.maxReplicas"),
            column("Replicas", f"{_STATUS}.currentReplicas"),
            AGE,
        ),
        _autoscaler,
        form="autoscaling/v2",
    ),
    ("autoscaling", "Scale"): Columns(
        (
            NAME._replace(format=""),
            integer("Desired", "autoscaling.v1.ScaleSpec.replicas"),
            integer("Available", "autoscaling.v1.ScaleStatus.replicas"),
            AGE,
        ),
        scale_cells,
    ),
}
