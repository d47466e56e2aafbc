"""The resources that all containers of a pod need together (KEP-753 "Sidecar Containers").

Containers run at the same time, and restartable init containers (sidecars) keep running beside them. Before that, the
other init containers run one at a time, each beside the sidecars that precede it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateway.jsontypes import JsonObject
from gateway.schema.quantity import Quantity

HUGE_PAGES = "hugepages-"
Needs = Callable[[JsonObject], Mapping[str, Quantity]]
"""Takes a container; returns the quantity that it needs of each resource, by name."""


def is_pod_level(resource: str) -> bool:
    """Whether pod-level resources (spec.resources of a pod) may have a resource of this name."""
    return resource in ("cpu", "memory") or resource.startswith(HUGE_PAGES)


def pod_total(spec: JsonObject, needs: Needs, needs_to_start: Needs | None = None) -> dict[str, Quantity]:
    """The quantity of each resource that a pod needs: while its containers run, or while it starts if that is more.

    `needs` gives the quantities of one container. `needs_to_start` gives those of an init container that ends; the
    default is `needs`.
    """
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, needs(container))
    beside: dict[str, Quantity] = {}
    most: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            own = needs(container)
            _add(total, own)
            _add(beside, own)
            _raise(most, beside)
        else:
            starting = dict((needs_to_start or needs)(container))
            _add(starting, beside)
            _raise(most, starting)
    _raise(total, most)
    return total


def _add(total: dict[str, Quantity], more: Mapping[str, Quantity]) -> None:
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def _raise(total: dict[str, Quantity], least: Mapping[str, Quantity]) -> None:
    for name, quantity in least.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity
