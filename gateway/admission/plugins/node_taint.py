"""TaintNodesByCondition: a new node gets the taint not-ready, which a controller takes away."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.record import Admission
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


async def _admit(admission: Admission, objects: Objects) -> Admission | None:
    obj = admission.obj
    assert obj is not None
    taints = (obj.get("spec") or {}).get("taints") or []
    if any(taint.get("key") == NOT_READY["key"] and taint.get("effect") == "NoSchedule" for taint in taints):
        return None
    return admission.with_spec(taints=[*taints, dict(NOT_READY)])


PLUGIN = Plugin(
    "TaintNodesByCondition",
    on("/nodes", operations=(Operation.CREATE,)),
    looking_up(admit=_admit),
)
