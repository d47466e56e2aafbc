"""DefaultTolerationSeconds: pods stay five minutes on a node that is not ready or not reachable, or as long
as --default-not-ready-toleration-seconds and --default-unreachable-toleration-seconds say.
"""

from __future__ import annotations

from gateway.admission.chain import Plugin, PluginParts, PluginReviews, on
from gateway.admission.record import Admission
from gateway.kinds.attributes import Operation

_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def _make(parts: PluginParts) -> PluginReviews:
    added = [
        {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        for taint, seconds in zip(_TAINTS, parts.toleration_seconds, strict=True)
    ]

    def admit(admission: Admission) -> Admission | None:
        obj = admission.obj
        assert obj is not None
        tolerations = (obj.get("spec") or {}).get("tolerations")
        if not tolerations:  # most pods
            return admission.with_spec(tolerations=[each.copy() for each in added])
        tolerated = {each.get("key") or "" for each in tolerations if each.get("effect") in (None, "", "NoExecute")}
        missing = [] if "" in tolerated else [each.copy() for each in added if each["key"] not in tolerated]
        return admission.with_spec(tolerations=tolerations + missing) if missing else None

    return PluginReviews(admit, None)


PLUGIN = Plugin("DefaultTolerationSeconds", on("/pods", operations=(Operation.CREATE, Operation.UPDATE)), _make)
