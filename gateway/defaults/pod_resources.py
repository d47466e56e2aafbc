"""Defaults of a pod's own resources from those of its containers.

Source: KEP-2837 "Pod Level Resource Specifications".
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.schema.pod_total import HUGE_PAGES, is_pod_level, pod_total
from gateway.schema.quantity import Quantity, parse_quantity


def default_pod_resources(spec: JsonObject) -> None:
    """Completes `resources` of a pod spec that sets some, after the containers' requests have their defaults.

    Limits of huge pages come from the containers; requests come from the containers, or else from the pod's limits.
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
    if not limits:
        return
    resources["limits"] = limits
    for name, quantity in containers_total(spec, "requests").items():
        if name in ("cpu", "memory") and name not in requests:
            requests[name] = str(quantity)
    for name, text in limits.items():
        if is_pod_level(name) and name not in requests:
            requests[name] = text
    if requests:
        resources["requests"] = requests


def containers_total(spec: JsonObject, field: str) -> dict[str, Quantity]:
    """What the containers together need of each resource by `field`: "requests" or "limits"."""
    return pod_total(spec, lambda container: _quantities(container, field))


def _quantities(container: JsonObject, field: str) -> dict[str, Quantity]:
    resources = container.get("resources") or {}
    return {name: parse_quantity(text) for name, text in (resources.get(field) or {}).items()}
