"""Fields of built-in kinds that belong to a feature gate: while it is off, a write drops them.

What the stored object has stays, so that nothing is lost where a gate is switched off again ("Changing the API", a page
of the Kubernetes community, on fields of alpha features). Fields of pods are in `gateway.validation.pod_features`;
those of ResourceSlices and of claims of volumes are in their strategies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupResource
from gateway.release.gates import Enabled

FIELDS: Mapping[GroupResource, Mapping[str, str]] = {
    GroupResource("apps", "statefulsets"): {
        "spec.updateStrategy.rollingUpdate.maxUnavailable": "MaxUnavailableStatefulSet",
    },
    GroupResource("coordination.k8s.io", "leases"): {
        "spec.strategy": "CoordinatedLeaderElection",
        "spec.preferredHolder": "CoordinatedLeaderElection",
    },
    GroupResource("storage.k8s.io", "csidrivers"): {"spec.preventPodSchedulingIfMissing": "VolumeLimitScaling"},
}
"""The gate of each such field, by the members that lead to it."""

Drop = Callable[[JsonObject, JsonObject | None], None]
"""Takes fields out of a new object, in place; the stored one, None at a create, says what stays."""


def drop_of(resource: GroupResource, enabled: Enabled) -> Drop | None:
    """What drops the fields of a resource whose gates are off; None where there are none."""
    off = [path.split(".") for path, gate in FIELDS.get(resource, {}).items() if not enabled(gate)]
    if not off:
        return None

    def drop(obj: JsonObject, old: JsonObject | None) -> None:
        for *way, name in off:
            holder = _at(obj, way)
            if name in holder and (old is None or name not in _at(old, way)):
                del holder[name]

    return drop


def _at(obj: JsonObject, way: list[str]) -> JsonObject:
    """The object that members lead to; an empty one where there is none."""
    for name in way:
        obj = obj.get(name) or {}
    return obj
