"""PodTopologyLabels: a pod that is put on a node gets the zone and the region of that node as labels."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.kinds import NODES
from gateway.admission.record import Admission, Found
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects

_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def _admit(admission: Admission, objects: Objects) -> Found:
    obj = admission.obj
    assert obj is not None
    if admission.subresource == "binding":
        target = obj.get("target") or {}
        name = target.get("name", "") if target.get("kind") == "Node" else ""
    else:
        name = (obj.get("spec") or {}).get("nodeName", "")
    return _label(admission, obj, name, objects) if name else None


async def _label(admission: Admission, obj: JsonObject, name: str, objects: Objects) -> Admission | None:
    node = await objects.get(NODES, "", name)
    labels = ((node or {}).get("metadata") or {}).get("labels") or {}
    copied = {key: labels[key] for key in _LABELS if key in labels}
    if not copied:
        return None
    meta = obj["metadata"]
    return admission.changed({**obj, "metadata": {**meta, "labels": {**(meta.get("labels") or {}), **copied}}})


PLUGIN = Plugin(
    "PodTopologyLabels",
    on("/pods", "/pods/binding", operations=(Operation.CREATE,)),
    looking_up(admit=_admit),
)
