"""DefaultTolerationSeconds: pods stay five minutes on a node that is not ready or not reachable."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.record import Admission, Operation
from gateway.kinds.objects import Objects

SECONDS = 300
_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


async def _admit(admission: Admission, objects: Objects) -> None:
    obj = admission.obj
    assert obj is not None
    spec = obj.setdefault("spec", {})
    tolerations = spec.get("tolerations") or []
    any_effect = [each.get("key") for each in tolerations if each.get("effect") in (None, "", "NoExecute")]
    tolerated = {key or "" for key in any_effect}
    missing = [] if "" in tolerated else [taint for taint in _TAINTS if taint not in tolerated]
    if missing:
        spec["tolerations"] = tolerations + [
            {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS}
            for taint in missing
        ]


PLUGIN = Plugin(
    "DefaultTolerationSeconds", on("/pods", operations=(Operation.CREATE, Operation.UPDATE)), looking_up(admit=_admit)
)
