"""ExtendedResourceToleration: pods that request extended resources tolerate the taints named after these."""

from __future__ import annotations

from gateway.admission.chain import Plugin, Reviews, on
from gateway.admission.record import Admission, Operation
from gateway.jsontypes import JsonObject
from gateway.validation.resource_names import is_extended


async def _admit(admission: Admission) -> None:
    assert admission.obj is not None
    spec = admission.obj.get("spec") or {}
    names = {
        name
        for key in ("containers", "initContainers")
        for container in spec.get(key) or ()
        for name in (container.get("resources") or {}).get("requests") or ()
        if is_extended(name)
    }
    for name in sorted(names):
        _tolerate(spec, {"key": name, "operator": "Exists", "effect": "NoSchedule"})


def _tolerate(spec: JsonObject, wanted: JsonObject) -> None:
    """Adds a toleration, or puts it in the place of those that differ in their seconds alone."""
    tolerations = spec.get("tolerations") or []
    alike = [each for each in tolerations if {**each, "tolerationSeconds": 0} == {**wanted, "tolerationSeconds": 0}]
    if wanted in alike:
        return
    kept = [wanted if each in alike else each for each in tolerations]
    spec["tolerations"] = kept if alike else [*kept, wanted]


PLUGIN = Plugin(
    "ExtendedResourceToleration",
    on("/pods", operations=(Operation.CREATE, Operation.UPDATE)),
    lambda parts: Reviews(_admit),
)
