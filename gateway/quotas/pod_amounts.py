"""What a pod as a whole requests and may use: containers, init containers, sidecars, pod level, overhead, resizes.

("Resource Management for Pods and Containers", "Init containers: resource sharing", "Resize CPU and Memory Resources").
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.jsontypes import JsonObject
from gateway.quotas.amounts import Amounts, amounts_of, greatest, plus
from gateway.schema.pod_total import is_pod_level, pod_total
from gateway.schema.quantity import Quantity

Statuses = Mapping[str, JsonObject]


def requests_of(pod: JsonObject) -> dict[str, Quantity]:
    """What a pod requests, with its overhead."""
    spec = pod.get("spec") or {}
    found = _of_containers(pod, spec, "requests")
    if has_pod_level(spec, "requests"):
        found |= _pod_level(spec, "requests")
    return plus(found, amounts_of(spec.get("overhead")))


def limits_of(pod: JsonObject) -> dict[str, Quantity]:
    """The limits of a pod, with the overhead of the resources that have a limit."""
    spec = pod.get("spec") or {}
    found = _of_containers(pod, spec, "limits")
    if has_pod_level(spec, "requests", "limits"):
        found |= _pod_level(spec, "limits")
    overhead = amounts_of(spec.get("overhead"))
    return plus(found, {name: amount for name, amount in overhead.items() if found.get(name)})


def has_pod_level(spec: JsonObject, *kinds: str) -> bool:
    """Whether a pod has pod-level resources of one of these `kinds` ("requests", "limits")."""
    resources = spec.get("resources") or {}
    return any(is_pod_level(name) for kind in kinds for name in resources.get(kind) or ())


def _pod_level(spec: JsonObject, kind: str) -> dict[str, Quantity]:
    said = amounts_of(spec["resources"].get(kind))
    return {name: amount for name, amount in said.items() if is_pod_level(name)}


def _of_containers(pod: JsonObject, spec: JsonObject, kind: str) -> dict[str, Quantity]:
    """The sum of the containers that run together, or what the init containers need if that is more."""
    statuses, infeasible = _statuses(pod), _is_resize_infeasible(pod)
    return pod_total(
        spec,
        lambda container: _effective(container, kind, statuses, infeasible),
        lambda container: amounts_of((container.get("resources") or {}).get(kind)),
    )


def _statuses(pod: JsonObject) -> Statuses:
    status = pod.get("status") or {}
    found = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    return {each.get("name", ""): each for each in found if each.get("resources") is not None}


def _effective(container: JsonObject, kind: str, statuses: Statuses, infeasible: bool) -> Amounts:
    """What a container counts for during a resize: the greatest of its spec, its status and its allocatedResources.

    An infeasible resize leaves the spec out; allocatedResources are for requests alone.
    """
    wanted = amounts_of((container.get("resources") or {}).get(kind))
    status = statuses.get(container.get("name", "")) if statuses else None
    if status is None:
        return wanted
    found = (
        amounts_of(status["resources"].get(kind))
        if infeasible
        else (greatest(wanted, amounts_of(status["resources"].get(kind))))
    )
    return greatest(found, amounts_of(status.get("allocatedResources"))) if kind == "requests" else found


def _is_resize_infeasible(pod: JsonObject) -> bool:
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodResizePending":
            return bool(condition.get("reason") == "Infeasible")
    return False
