"""Defaults of a pod's own resources from those of its containers.

Source: KEP-2837 "Pod Level Resource Specifications"; the sum over containers is that of KEP-753 "Sidecar Containers":
restartable init containers run on beside the others, ordinary init containers run one at a time before them.
"""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.schema.quantity import Quantity, parse_quantity

ResourceList = dict[str, Quantity]

_HUGE_PAGES = "hugepages-"


def _supported(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)


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
        if name.startswith(_HUGE_PAGES) and name not in requests and name not in limits:
            limits[name] = str(quantity)
    if not limits:
        return
    resources["limits"] = limits
    for name, quantity in containers_total(spec, "requests").items():
        if name in ("cpu", "memory") and name not in requests:
            requests[name] = str(quantity)
    for name, text in limits.items():
        if _supported(name) and name not in requests:
            requests[name] = text
    if requests:
        resources["requests"] = requests


def containers_total(spec: JsonObject, field: str) -> ResourceList:
    """What the containers together need of each resource by `field`: "requests" or "limits"."""
    total: ResourceList = {}
    for container in spec.get("containers") or ():
        _add(total, _quantities(container, field))
    beside: ResourceList = {}
    starting: ResourceList = {}
    for container in spec.get("initContainers") or ():
        own = _quantities(container, field)
        if container.get("restartPolicy") == "Always":
            _add(total, own)
            _add(beside, own)
            _raise(starting, beside)
        else:
            _add(own, beside)
            _raise(starting, own)
    _raise(total, starting)
    return total


def _quantities(container: JsonObject, field: str) -> ResourceList:
    resources = container.get("resources") or {}
    return {name: parse_quantity(text) for name, text in (resources.get(field) or {}).items()}


def _add(total: ResourceList, more: ResourceList) -> None:
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def _raise(total: ResourceList, least: ResourceList) -> None:
    for name, quantity in least.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity
