"""LimitPodHardAntiAffinityTopology: required anti-affinity is allowed with the topology key of a node only."""

from __future__ import annotations

from gateway.admission.chain import Plugin, PluginReviews, on
from gateway.admission.record import Admission
from gateway.http.status import forbidden
from gateway.kinds.attributes import Operation

_ALLOWED = "kubernetes.io/hostname"


async def _validate(admission: Admission) -> None:
    obj = admission.obj
    assert obj is not None
    affinity = ((obj.get("spec") or {}).get("affinity") or {}).get("podAntiAffinity") or {}
    for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
        key = term.get("topologyKey", "")
        if key != _ALLOWED:
            reason = (
                f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} "
                f"but only key {_ALLOWED} is allowed"
            )
            raise forbidden("", "pods", obj["metadata"].get("name", ""), reason)


PLUGIN = Plugin(
    "LimitPodHardAntiAffinityTopology",
    on("/pods", operations=(Operation.CREATE, Operation.UPDATE)),
    lambda parts: PluginReviews(validate=_validate),
)
