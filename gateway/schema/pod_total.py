"""What the containers of a pod need together (KEP-753 "Sidecar Containers").

Containers run together, with the restartable init containers, which run on beside them. The other init containers run
one at a time before, each beside the restartable ones that come before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateway.jsontypes import JsonObject
from gateway.schema.quantity import Quantity

HUGE_PAGES = "hugepages-"
Needs = Callable[[JsonObject], Mapping[str, Quantity]]
"""What one container needs of each resource."""


def is_pod_level(resource: str) -> bool:
    """Whether a pod may say itself how much of a resource its containers need together."""
    return resource in ("cpu", "memory") or resource.startswith(HUGE_PAGES)


def pod_total(spec: JsonObject, needs: Needs, needs_to_start: Needs | None = None) -> dict[str, Quantity]:
    """What the containers of a pod's specification need of each resource: while they run, or to start if that is more.

    `needs_to_start` is for init containers that end; without it, `needs` is.
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
