"""What a pod as a whole requests and is limited to, by its specification."""

from __future__ import annotations

from gateway.admission.limits.constraints import Quantities, quantities
from gateway.jsontypes import JsonObject
from gateway.schema.quantity import Quantity

_POD_LEVEL = ("cpu", "memory")


def pod_usage(spec: JsonObject, member: str) -> dict[str, Quantity]:
    """The sum of `member` ("requests", "limits") of a pod's containers, sidecars among them.

    It is at least what each init container needs beside the sidecars that were started before it. What the pod itself
    says of CPU and memory goes before that. Overhead does not count.
    """
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, _of(container, member))
    sidecars: dict[str, Quantity] = {}
    starting: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        wanted = _of(container, member)
        if container.get("restartPolicy") == "Always":
            _add(total, wanted)
            _add(sidecars, wanted)
            _raise(starting, sidecars)
        else:
            beside = dict(wanted)
            _add(beside, sidecars)
            _raise(starting, beside)
    _raise(total, starting)
    own = quantities((spec.get("resources") or {}).get(member))
    total.update((name, own[name]) for name in _POD_LEVEL if name in own)
    return total


def with_overhead(usage: Quantities, spec: JsonObject) -> dict[str, Quantity]:
    """The same with what the pod's runtime needs besides."""
    total = dict(usage)
    _add(total, quantities(spec.get("overhead")))
    return total


def _of(container: JsonObject, member: str) -> dict[str, Quantity]:
    return quantities((container.get("resources") or {}).get(member))


def _add(total: dict[str, Quantity], more: Quantities) -> None:
    for name, quantity in more.items():
        total[name] = total[name] + quantity if name in total else quantity


def _raise(total: dict[str, Quantity], least: Quantities) -> None:
    for name, quantity in least.items():
        if name not in total or quantity > total[name]:
            total[name] = quantity
