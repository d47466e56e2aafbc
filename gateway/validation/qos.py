"""Quality of service classes of pods (page "Pod Quality of Service Classes")."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.quantity import Quantity
from gateway.validation.quantities import quantity_of

_COMPUTE = ("cpu", "memory")


def qos_class(spec: JsonObject, *, own_if_set: bool = False) -> str:
    """The QoS class for a pod's spec: BestEffort, Burstable or Guaranteed.

    The pod's own resources count in the place of those of its containers. With `own_if_set` (the gate
    PodLevelResourcesFixKubeletQOSClass) they count only if they name a resource that a pod may have.
    """
    pod_level = spec.get("resources")
    if own_if_set and pod_level is not None and not _names_resource(pod_level):
        pod_level = None
    if pod_level is not None:
        requirements = [pod_level]
    else:
        requirements = [
            container.get("resources") or {}
            for key in ("containers", "initContainers")
            for container in spec.get(key) or ()
        ]
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    for requirement in requirements:
        _add(requests, requirement.get("requests"))
        wanted = _add(limits, requirement.get("limits"))
        if wanted < len(_COMPUTE) and (pod_level is None or requirement.get("limits")):
            guaranteed = False
        if not guaranteed and (requests or limits):
            return "Burstable"  # no other container can change this
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if requests == limits else "Burstable"


def _names_resource(requirement: JsonObject) -> bool:
    return any(
        name in _COMPUTE or name.startswith("hugepages-")
        for key in ("requests", "limits")
        for name in requirement.get(key) or ()
    )


def _add(total: dict[str, Quantity], quantities: dict[str, Any] | None) -> int:
    """Adds the quantities above zero to `total`. Returns how many of CPU and memory are above zero."""
    count = 0
    if not quantities:
        return count
    for name in _COMPUTE:
        quantity = quantity_of(quantities.get(name))
        if quantity.unscaled > 0:
            count += 1
            total[name] = quantity + total[name] if name in total else quantity
    return count
