"""Defaults of a pod's own resources from those of its containers.

Source: KEP-2837 "Pod Level Resource Specifications"; the sum over containers is that of KEP-753 "Sidecar Containers":
restartable init containers run on beside the others, ordinary init containers run one at a time before them.
"""

from __future__ import annotations

from gateway.defaults.quantities import Amount, add, parse, raise_to, render
from gateway.jsontypes import JsonObject

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
    for name, amount in _total(spec, "limits").items():
        if name.startswith(_HUGE_PAGES) and name not in requests and name not in limits:
            limits[name] = render(amount)
    if not limits:
        return
    resources["limits"] = limits
    for name, amount in _total(spec, "requests").items():
        if name in ("cpu", "memory") and name not in requests:
            requests[name] = render(amount)
    for name, text in limits.items():
        if _supported(name) and name not in requests:
            requests[name] = text
    if requests:
        resources["requests"] = requests


def _total(spec: JsonObject, field: str) -> dict[str, Amount]:
    """What the containers together need of each resource by `field`: "requests" or "limits"."""
    total: dict[str, Amount] = {}
    for container in spec.get("containers", ()):
        add(total, _amounts(container, field))
    beside: dict[str, Amount] = {}
    starting: dict[str, Amount] = {}
    for container in spec.get("initContainers", ()):
        own = _amounts(container, field)
        if container.get("restartPolicy") == "Always":
            add(total, own)
            add(beside, own)
            raise_to(starting, beside.items())
        else:
            add(own, beside)
            raise_to(starting, own.items())
    raise_to(total, starting.items())
    return total


def _amounts(container: JsonObject, field: str) -> dict[str, Amount]:
    resources = container.get("resources") or {}
    return {name: parse(text) for name, text in (resources.get(field) or {}).items()}
