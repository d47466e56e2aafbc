"""ExtendedResourceToleration: pods that request extended resources tolerate the taints named after these."""

from __future__ import annotations

from gateway.admission.chain import Plugin, PluginReviews, on
from gateway.admission.record import Admission
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.validation.resource_names import is_extended


async def _admit(admission: Admission) -> Admission | None:
    assert admission.obj is not None
    spec = admission.obj.get("spec") or {}
    names = {
        name
        for key in ("containers", "initContainers")
        for container in spec.get(key) or ()
        for name in (container.get("resources") or {}).get("requests") or ()
        if is_extended(name)
    }
    if not names:
        return None
    wanted = {name: {"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in sorted(names)}
    return admission.with_spec(tolerations=_tolerating(spec.get("tolerations") or [], wanted))


def _tolerating(tolerations: list[JsonObject], wanted: dict[str, JsonObject]) -> list[JsonObject]:
    """The tolerations and the `wanted` ones (by key). Each replaces those that differ only in tolerationSeconds."""
    alike: dict[str, bool] = {}  # by key: whether one that is alike has no tolerationSeconds: it stays
    for each in tolerations:
        if _is_alike(each, wanted):
            alike[each["key"]] = alike.get(each["key"], False) or "tolerationSeconds" not in each
    kept = [wanted[each["key"]] if _is_alike(each, wanted) and not alike[each["key"]] else each for each in tolerations]
    return kept + [each for name, each in wanted.items() if name not in alike]


def _is_alike(toleration: JsonObject, wanted: dict[str, JsonObject]) -> bool:
    other = wanted.get(toleration.get("key", ""))
    return other is not None and {**toleration, "tolerationSeconds": 0} == {**other, "tolerationSeconds": 0}


PLUGIN = Plugin(
    "ExtendedResourceToleration",
    on("/pods", operations=(Operation.CREATE, Operation.UPDATE)),
    lambda parts: PluginReviews(_admit),
)
