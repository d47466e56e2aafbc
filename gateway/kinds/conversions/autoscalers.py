"""Converts HorizontalPodAutoscaler between autoscaling/v1 and v2.

Version 1 has one CPU target only. Other metrics, behavior and conditions of version 2 are kept in annotations
(autoscaling.alpha.kubernetes.io/…). The metrics there have an older form, which is used nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.jsontypes import JsonObject, dumps
from gateway.kinds.conversions.annotated_fields import (
    BEHAVIOR,
    CONDITIONS,
    CURRENT_METRICS,
    METRICS,
    OF_AUTOSCALERS,
)
from gateway.schema.outside import read_json
from gateway.schema.quantity import parse_quantity

_DEFAULT_CPU_PERCENT = 80
_REFERENCE = ("kind", "name", "apiVersion")
_CONDITION = ("type", "status", "lastTransitionTime", "reason", "message")
_RULES = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")


def autoscaler_to_v1(autoscaler: JsonObject) -> JsonObject:
    """An autoscaling/v2 autoscaler as v1; shares parts with it."""
    spec, status = autoscaler.get("spec") or {}, autoscaler.get("status") or {}
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    targets = [metric["resource"]["target"]["averageUtilization"] for metric in metrics if _is_cpu_target(metric)]
    uses = [use for use in map(_cpu_use, current) if use is not None]
    new_spec = {k: v for k, v in spec.items() if k not in ("metrics", "behavior")}
    if targets:
        new_spec["targetCPUUtilizationPercentage"] = targets[0]
    new_status = {k: v for k, v in status.items() if k not in ("currentMetrics", "conditions")}
    if uses:
        new_status["currentCPUUtilizationPercentage"] = uses[-1]
    carried: JsonObject = {}
    if others := [_old_metric(metric) for metric in metrics if not _is_cpu_target(metric)]:
        carried[METRICS] = _text(others)
    if current:
        carried[CURRENT_METRICS] = _text([_old_status(metric) for metric in current])
    if "behavior" in spec:
        carried[BEHAVIOR] = _text(_behavior_text(spec["behavior"]))
    if conditions := status.get("conditions"):
        carried[CONDITIONS] = _text([_ordered(condition, _CONDITION) for condition in conditions])
    return autoscaler | {
        "metadata": _with_annotations(autoscaler.get("metadata") or {}, carried),
        "spec": new_spec,
        "status": new_status,
    }


def autoscaler_to_v2(autoscaler: JsonObject) -> JsonObject:
    """An autoscaling/v1 autoscaler as v2; shares parts with it. Annotations that can't be parsed are ignored."""
    meta = autoscaler.get("metadata") or {}
    spec, status = dict(autoscaler.get("spec") or {}), dict(autoscaler.get("status") or {})
    annotations = meta.get("annotations") or {}
    target, use = spec.pop("targetCPUUtilizationPercentage", None), status.pop("currentCPUUtilizationPercentage", None)
    metrics = _read(annotations.get(METRICS), _new_metric)
    if target is not None or not metrics:
        metrics = [*(metrics or ()), _cpu_metric(_DEFAULT_CPU_PERCENT if target is None else target)]
    spec["metrics"] = metrics
    if behavior := _read_behavior(annotations.get(BEHAVIOR)):
        spec["behavior"] = behavior
    current = _read(annotations.get(CURRENT_METRICS), _new_status)
    if current is not None:
        status["currentMetrics"] = current
    elif use is not None:
        status["currentMetrics"] = [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": use}}}
        ]
    conditions = _read(annotations.get(CONDITIONS), dict)
    if conditions is not None:
        status["conditions"] = conditions
    return autoscaler | {"metadata": _with_annotations(meta, {}), "spec": spec, "status": status}


def read_autoscaler(autoscaler: JsonObject) -> None:
    """Gives the annotations of an autoscaling/v1 autoscaler the form that the way to v2 and back gives them, in place.

    kube-apiserver keeps no other form: managedFields and the generation follow from it. An annotation that cannot be
    read goes, and a CPU target in one goes to the spec.
    """
    if OF_AUTOSCALERS.isdisjoint(autoscaler["metadata"].get("annotations") or {}):
        return
    settled = autoscaler_to_v1(autoscaler_to_v2(autoscaler))
    autoscaler.update(metadata=settled["metadata"], spec=settled["spec"])
    if settled["status"]:
        autoscaler["status"] = settled["status"]


def _is_cpu_target(metric: JsonObject) -> bool:
    resource = metric.get("resource") or {}
    return metric["type"] == "Resource" and resource.get("name") == "cpu" and "averageUtilization" in resource["target"]


def _cpu_use(metric: JsonObject) -> int | None:
    resource = metric.get("resource") or {}
    if metric["type"] != "Resource" or resource.get("name") != "cpu":
        return None
    use: int | None = (resource.get("current") or {}).get("averageUtilization")
    return use


def _cpu_metric(percent: int) -> JsonObject:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _with_annotations(meta: JsonObject, carried: JsonObject) -> JsonObject:
    annotations = meta.get("annotations") or {}
    if not carried and OF_AUTOSCALERS.isdisjoint(annotations):
        return meta
    kept = {key: value for key, value in annotations.items() if key not in OF_AUTOSCALERS} | carried
    return {key: value for key, value in meta.items() if key != "annotations"} | ({"annotations": kept} if kept else {})


def _text(value: Any) -> str:
    """JSON as Go writes it."""
    return dumps(value).decode()


def _ordered(value: JsonObject, keys: tuple[str, ...]) -> JsonObject:
    return {key: value[key] for key in keys if key in value}


def _present(**members: Any) -> JsonObject:
    return {key.rstrip("_"): value for key, value in members.items() if value is not None}


def _old_metric(metric: JsonObject) -> JsonObject:
    return {"type": metric["type"]} | {
        source: _OLD_SOURCES[source](metric[source], metric[source].get("target") or {}, "target")
        for source in _OLD_SOURCES
        if source in metric
    }


def _old_status(metric: JsonObject) -> JsonObject:
    return {"type": metric["type"]} | {
        source: _OLD_SOURCES[source](metric[source], metric[source].get("current") or {}, "current")
        for source in _OLD_SOURCES
        if source in metric
    }


def _old_object(source: JsonObject, value: JsonObject, word: str) -> JsonObject:
    metric = source.get("metric") or {}
    return _present(
        target=_ordered(source.get("describedObject") or {}, _REFERENCE),
        metricName=metric.get("name", ""),
        **{f"{word}Value": value.get("value", "0")},
        selector=metric.get("selector"),
        averageValue=value.get("averageValue"),
    )


def _old_pods(source: JsonObject, value: JsonObject, word: str) -> JsonObject:
    metric = source.get("metric") or {}
    average = {f"{word}AverageValue": value.get("averageValue", "0")}
    return _present(metricName=metric.get("name", ""), **average, selector=metric.get("selector"))


def _old_resource(source: JsonObject, value: JsonObject, word: str) -> JsonObject:
    return _present(
        name=source.get("name", ""),
        **{
            f"{word}AverageUtilization": value.get("averageUtilization"),
            f"{word}AverageValue": value.get("averageValue", "0" if word == "current" else None),
        },
        container=source.get("container"),
    )


def _old_external(source: JsonObject, value: JsonObject, word: str) -> JsonObject:
    metric = source.get("metric") or {}
    return _present(
        metricName=metric.get("name", ""),
        metricSelector=metric.get("selector"),
        **{
            f"{word}Value": value.get("value", "0" if word == "current" else None),
            f"{word}AverageValue": value.get("averageValue"),
        },
    )


_OLD_SOURCES = {
    "object": _old_object,
    "pods": _old_pods,
    "resource": _old_resource,
    "containerResource": _old_resource,
    "external": _old_external,
}


def _read(text: str | None, read_one: Any) -> list[JsonObject] | None:
    """The list in an annotation; None if there is none, or if it can't be parsed."""
    if text is None:
        return None
    try:
        value = read_json(text.encode())
        return [read_one(item or {}) for item in value or ()]
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _new_metric(old: JsonObject) -> JsonObject:
    return {"type": old.get("type", "")} | dict(_new_sources(old, "target"))


def _new_status(old: JsonObject) -> JsonObject:
    return {"type": old.get("type", "")} | dict(_new_sources(old, "current"))


def _new_sources(old: JsonObject, word: str) -> Iterator[tuple[str, JsonObject]]:
    for name in _OLD_SOURCES:
        source = old.get(name)
        if source is None:
            continue
        new: JsonObject = {}
        if name in ("resource", "containerResource"):
            new["name"] = source.get("name", "")
            if name == "containerResource":
                new["container"] = source.get("container", "")
        else:
            selector = source.get("metricSelector" if name == "external" else "selector")
            new["metric"] = _present(name=source.get("metricName", ""), selector=selector)
        if name == "object":
            new["describedObject"] = source.get("target") or {}
        new[word] = _new_value(name, source, word)
        yield name, new


def _new_value(name: str, source: JsonObject, word: str) -> JsonObject:
    """The target or current value of a metric."""
    utilization = source.get(f"{word}AverageUtilization")
    average = source.get("averageValue" if name == "object" else f"{word}AverageValue")
    value = source.get(f"{word}Value")
    if name == "pods" or (word == "current" and name in ("resource", "containerResource")):
        average = average or "0"
    if (word == "current" and name in ("object", "external")) or (name == "object" and average is None):
        value = value or "0"
    for quantity in (average, value):
        parse_quantity(str(quantity or "0"))
    if word == "current":
        return _present(value=value, averageValue=average, averageUtilization=utilization)
    if name == "object":
        if average is not None and not parse_quantity(str(value or "0")):
            value = None
        kind = "Value" if average is None else "AverageValue"
    elif name == "external":
        kind = "AverageValue" if value is None else "Value"
    else:
        kind = "AverageValue" if utilization is None else "Utilization"
    return _present(type=kind, value=value, averageValue=average, averageUtilization=utilization)


def _behavior_text(behavior: JsonObject) -> JsonObject:
    """The behavior with Go's field names, which the annotation uses."""
    return {name: _rules_text(behavior.get(name[0].lower() + name[1:])) for name in ("ScaleUp", "ScaleDown")}


def _rules_text(rules: JsonObject | None) -> JsonObject | None:
    if rules is None:
        return None
    policies = rules.get("policies")
    names = ("type", "value", "periodSeconds")
    go_policies = policies and [{_upper(name): policy.get(name) for name in names} for policy in policies]
    return {_upper(name): go_policies if name == "policies" else rules.get(name) for name in _RULES}


def _upper(name: str) -> str:
    return name[0].upper() + name[1:]


def _read_behavior(text: str | None) -> JsonObject | None:
    if text is None:
        return None
    try:
        behavior = _json_names(read_json(text.encode()))
    except ValueError:
        return None
    return behavior if isinstance(behavior, dict) else None


def _json_names(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[:1].lower() + key[1:]: _json_names(item) for key, item in value.items() if item is not None}
    return [_json_names(item) for item in value] if isinstance(value, list) else value
