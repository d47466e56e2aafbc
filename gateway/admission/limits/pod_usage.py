"""What a pod as a whole requests and is limited to, by its specification."""

from __future__ import annotations

from gateway.admission.limits.constraints import quantities
from gateway.defaults.pod_level_resources import containers_total
from gateway.jsontypes import JsonObject
from gateway.schema.quantity import Quantity

_POD_LEVEL = ("cpu", "memory")


def pod_usage(spec: JsonObject, member: str) -> dict[str, Quantity]:
    """The total of the containers' `member` ("requests" or "limits"), without the pod's overhead.

    CPU and memory of the pod's own `resources` (pod level) replace those totals.
    """
    total = containers_total(spec, member)
    own = quantities((spec.get("resources") or {}).get(member))
    total.update((name, own[name]) for name in _POD_LEVEL if name in own)
    return total


def with_overhead(usage: dict[str, Quantity], spec: JsonObject) -> dict[str, Quantity]:
    """A pod's usage plus the overhead of its RuntimeClass."""
    more = quantities(spec.get("overhead"))
    return usage | {name: usage[name] + quantity if name in usage else quantity for name, quantity in more.items()}
