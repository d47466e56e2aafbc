"""HorizontalPodAutoscalers v2: target, metrics, behavior (page "Horizontal Pod Autoscaling")."""

from __future__ import annotations

from collections.abc import Callable

from gateway.jsontypes import JsonObject
from gateway.validation.checks import known, text
from gateway.validation.field import FieldError, forbidden, invalid, not_supported, required
from gateway.validation.formats import POSITIVE, validate_dns1123_label
from gateway.validation.names import is_path_segment_name
from gateway.validation.quantities import quantity_of, validate_nonnegative_quantity
from gateway.validation.resource_names import validate_container_resource_name

MAX_PERIOD_SECONDS, MAX_WINDOW_SECONDS = 1800, 3600
SELECT_POLICIES, POLICY_TYPES = ("Disabled", "Max", "Min"), ("Percent", "Pods")
SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}


def validate_autoscaler(
    hpa: JsonObject, old: JsonObject | None, *, to_zero: bool, requires_most: bool = True
) -> list[FieldError]:
    """The errors of an autoscaler. With `to_zero`, minReplicas may be 0; without it, only if it was 0 before.

    `requires_most` says whether maxReplicas 0 counts as missing.
    """
    spec, before = hpa.get("spec", {}), (old or {}).get("spec", {})
    found: list[FieldError] = []
    least = 0 if to_zero or before.get("minReplicas") == 0 else 1
    low, high = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if low is not None and low < least:
        found.append(invalid("spec.minReplicas", low, f"must be greater than or equal to {least}"))
    found += _most_problem(high, requires_most)
    if low is not None and high < low:
        found.append(invalid("spec.maxReplicas", high, "must be greater than or equal to `minReplicas`"))
    target, old_target = spec.get("scaleTargetRef", {}), before.get("scaleTargetRef", {})
    unchanged = old is not None and all(
        target.get(key, "") == old_target.get(key, "") for key in ("apiVersion", "kind")
    )
    core_group = target.get("kind") == "ReplicationController"
    found += _reference(target, "spec.scaleTargetRef", any_version=unchanged, core_group=core_group)
    any_version = any(
        _version_problem(metric["object"].get("describedObject", {}), True) for metric in _objects(before)
    )
    found += _metrics(spec, any_version)
    behavior = spec.get("behavior") or {}
    for key in ("scaleUp", "scaleDown"):
        found += _rules(behavior.get(key), f"spec.behavior.{key}")
    return found


def _most_problem(high: int, requires_most: bool) -> list[FieldError]:
    if high == 0 and requires_most:
        return [required("spec.maxReplicas", "must be set and greater than 0")]
    words = "must be greater than or equal to 1" if requires_most else "must be greater than 0"
    return [invalid("spec.maxReplicas", high, words)] if high < 1 else []


def _objects(spec: JsonObject) -> list[JsonObject]:
    return [metric for metric in spec.get("metrics") or () if metric.get("type") == "Object" and metric.get("object")]


def _reference(reference: JsonObject, path: str, *, any_version: bool, core_group: bool) -> list[FieldError]:
    found = [
        error for key in ("kind", "name") for error in text(f"{path}.{key}", reference.get(key), is_path_segment_name)
    ]
    if not any_version and (problem := _version_problem(reference, core_group)):
        found.append(invalid(f"{path}.apiVersion", reference.get("apiVersion", ""), problem))
    return found


def _version_problem(reference: JsonObject, core_group: bool) -> str:
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}"
    group = version.partition("/")[0] if "/" in version else ""
    return "" if group or core_group else "apiVersion must specify API group"


def _metrics(spec: JsonObject, any_version: bool) -> list[FieldError]:
    metrics, found = spec.get("metrics") or [], list[FieldError]()
    for i, metric in enumerate(metrics):
        found += _metric(metric, f"spec.metrics[{i}]", any_version)
    if spec.get("minReplicas") == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        message = "must specify at least one Object or External metric to support scaling to zero replicas"
        found.append(forbidden("spec.metrics", message))
    return found


def _metric(metric: JsonObject, path: str, any_version: bool) -> list[FieldError]:
    found, kind = list[FieldError](), metric.get("type", "")
    if not kind:
        found.append(required(f"{path}.type", "must specify a metric source type"))
    if kind not in SOURCES:
        found.append(not_supported(f"{path}.type", kind, tuple(SOURCES)))
    present = [key for key in ("object", "external", "pods", "resource", "containerResource") if key in metric]
    if present:
        found += _source(present[0], metric[present[0]], f"{path}.{present[0]}", any_version)
    expected = SOURCES.get(kind)
    if expected is None:
        found.append(not_supported(f"{path}.type", kind, tuple(SOURCES)))
    elif expected not in metric:
        found.append(required(f"{path}.{expected}", "must populate information for the given metric source"))
    if len(present) != 1:
        message = "must populate the given metric source only"
        found += [forbidden(f"{path}.{key}", message) for key in present if key != expected]
    return found


def _source(kind: str, source: JsonObject, path: str, any_version: bool) -> list[FieldError]:
    found, target = list[FieldError](), source.get("target", {})
    if kind == "object":
        described = source.get("describedObject", {})
        found += _reference(described, f"{path}.describedObject", any_version=any_version, core_group=True)
    if kind in ("object", "external", "pods"):
        found += _identifier(source.get("metric", {}), f"{path}.metric")
    else:
        found += _resource(kind, source, path)
    found += _target(target, f"{path}.target")
    return found + _VALUES[kind](target, f"{path}.target")


def _resource(kind: str, source: JsonObject, path: str) -> list[FieldError]:
    found, name, container = list[FieldError](), source.get("name", ""), source.get("container", "")
    if not name:
        found.append(required(f"{path}.name", "must specify a resource name"))
    elif kind == "containerResource":
        found += validate_container_resource_name(name, f"{path}.name")
    if kind == "containerResource":
        if not container:
            found.append(required(f"{path}.container", "must specify a container"))
        else:
            found += validate_dns1123_label(f"{path}.container", container)
    return found


def _identifier(identifier: JsonObject, path: str) -> list[FieldError]:
    if name := identifier.get("name"):
        return text(f"{path}.name", name, is_path_segment_name)
    return [required(f"{path}.name", "must specify a metric name")]


def _object_values(target: JsonObject, path: str) -> list[FieldError]:
    if "value" in target or "averageValue" in target:
        return []
    return [required(f"{path}.averageValue", "must set either a target value or averageValue")]


def _external_values(target: JsonObject, path: str) -> list[FieldError]:
    if "value" not in target and "averageValue" not in target:
        return [required(f"{path}.averageValue", "must set either a target value for metric or a per-pod target")]
    if "value" in target and "averageValue" in target:
        return [forbidden(f"{path}.value", "may not set both a target value for metric and a per-pod target")]
    return []


def _pods_values(target: JsonObject, path: str) -> list[FieldError]:
    missing = "averageValue" not in target
    return [required(f"{path}.averageValue", "must specify a positive target averageValue")] if missing else []


def _resource_values(target: JsonObject, path: str) -> list[FieldError]:
    if "averageUtilization" not in target and "averageValue" not in target:
        return [required(f"{path}.averageUtilization", "must set either a target raw value or a target utilization")]
    if "averageUtilization" in target and "averageValue" in target:
        return [forbidden(f"{path}.averageValue", "may not set both a target raw value and a target utilization")]
    return []


_VALUES: dict[str, Callable[[JsonObject, str], list[FieldError]]] = {
    "object": _object_values,
    "external": _external_values,
    "pods": _pods_values,
    "resource": _resource_values,
    "containerResource": _resource_values,
}


def _target(target: JsonObject, path: str) -> list[FieldError]:
    kind, found = target.get("type", ""), list[FieldError]()
    if not kind:
        found.append(required(f"{path}.type", "must specify a metric target type"))
    if kind not in ("Utilization", "Value", "AverageValue"):
        found.append(invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for key in ("value", "averageValue"):
        if key in target and quantity_of(target[key]).unscaled <= 0:
            found.append(invalid(f"{path}.{key}", target[key], "must be positive"))
    if (utilization := target.get("averageUtilization")) is not None and utilization < 1:
        found.append(invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))
    return found


def _rules(rules: JsonObject | None, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if rules is None:
        return found
    if (window := rules.get("stabilizationWindowSeconds")) is not None:
        at = f"{path}.stabilizationWindowSeconds"
        if window < 0:
            found.append(invalid(at, window, "must be greater than or equal to zero"))
        if window > MAX_WINDOW_SECONDS:
            found.append(invalid(at, window, f"must be less than or equal to {MAX_WINDOW_SECONDS}"))
    if (select := rules.get("selectPolicy")) is not None:
        found += known(f"{path}.selectPolicy", select, SELECT_POLICIES)
    policies = rules.get("policies") or []
    if not policies:
        found.append(required(f"{path}.policies", "must specify at least one Policy"))
    for i, policy in enumerate(policies):
        found += _policy(policy, f"{path}.policies[{i}]")
    if (tolerance := rules.get("tolerance")) is not None:
        found += validate_nonnegative_quantity(tolerance, f"{path}.tolerance")
    return found


def _policy(policy: JsonObject, path: str) -> list[FieldError]:
    found = known(f"{path}.type", policy.get("type", ""), POLICY_TYPES)
    period = policy.get("periodSeconds", 0)
    for key in ("value", "periodSeconds"):
        if policy.get(key, 0) <= 0:
            found.append(invalid(f"{path}.{key}", policy.get(key, 0), POSITIVE))
    if period > MAX_PERIOD_SECONDS:
        found.append(invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {MAX_PERIOD_SECONDS}"))
    return found
