"""Defaults of pod-level resources, from those of the containers.

Source: KEP-2837 "Pod Level Resource Specifications".
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.schema.pod_total import HUGE_PAGES, is_pod_level, pod_total
from gateway.schema.quantity import Quantity, parse_quantity

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def default_pod_resources(spec: JsonObject, *, without_limits: bool = False) -> None:
    """Completes the pod-level resources of a pod spec that sets some. The containers must have their defaults already.

    Limits of huge pages come from the containers. Requests come from the containers, or else from the pod's limits. A
    pod without limits gets no requests unless `without_limits` is true.
    """
    resources = spec.get("resources")
    if not resources:
        return
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not limits and not requests:
        return
    for name, quantity in containers_total(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name not in requests and name not in limits:
            limits[name] = str(quantity)
    if limits:
        resources["limits"] = limits
    elif not without_limits:
        return
    for name, quantity in containers_total(spec, "requests").items():
        if name in ("cpu", "memory") and name not in requests:
            requests[name] = str(quantity)
    for name, text in limits.items():
        if is_pod_level(name) and name not in requests:
            requests[name] = text
    if requests:
        resources["requests"] = requests


def complete_pod_resources(spec: JsonObject) -> None:
    """As `default_pod_resources`, after admission, and sets limits too (PodLevelResourcesFixDefaulting).

    A limit that the pod lacks is the total of its containers, if each of them has that limit, but not less than the
    pod's request.
    """
    if not (resources := spec.get("resources")):
        return
    default_pod_resources(spec, without_limits=True)
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    missing = [name for name in requests if is_pod_level(name) and name not in limits]
    containers = [each for key in _CONTAINERS for each in spec.get(key) or ()]
    missing = [name for name in missing if all(name in _limits(each) for each in containers)]
    if not missing:
        return
    total = containers_total(spec, "limits")
    for name in missing:
        if name in total:
            request = parse_quantity(requests[name])
            limits = {**limits, name: requests[name] if request > total[name] else str(total[name])}
    if limits:
        resources["limits"] = limits


def _limits(container: JsonObject) -> JsonObject:
    return (container.get("resources") or {}).get("limits") or {}


def containers_total(spec: JsonObject, field: str) -> dict[str, Quantity]:
    """The total of the containers for each resource; `field` is "requests" or "limits"."""
    return pod_total(spec, lambda container: _quantities(container, field))


def _quantities(container: JsonObject, field: str) -> dict[str, Quantity]:
    resources = container.get("resources") or {}
    return {name: parse_quantity(text) for name, text in (resources.get(field) or {}).items()}
