"""Fields of pods whose feature is off by default: writes drop them, unless the stored object has them."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.pod_options import containers_of


def drop_disabled_fields(spec: JsonObject, old: JsonObject | None) -> None:
    """Removes fields of disabled features from `spec`, in place. `old` is the stored spec; None for a new pod."""
    if "schedulingGroup" in spec and "schedulingGroup" not in (old or {}):
        del spec["schedulingGroup"]
    for container in containers_of(spec):
        lifecycle = container.get("lifecycle")
        if lifecycle is not None and "stopSignal" in lifecycle and not _has_stop_signal(old):
            del lifecycle["stopSignal"]
            if not lifecycle:
                del container["lifecycle"]


def _has_stop_signal(spec: JsonObject | None) -> bool:
    return any("stopSignal" in (container.get("lifecycle") or {}) for container in containers_of(spec or {}))


def drop_disabled_status_fields(status: JsonObject, old: JsonObject) -> None:
    """Removes fields of disabled features from `status`, in place. `old` is the stored status."""
    key = "nodeAllocatableResourceClaimStatuses"
    if key in status and key not in old:
        del status[key]
    for kind in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(kind) or ():
            for mount in container.get("volumeMounts") or ():
                mount.pop("volumeStatus", None)
