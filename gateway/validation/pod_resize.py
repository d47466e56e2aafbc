"""Changing the resources of a running pod (page "Resize CPU and Memory Resources assigned to Containers")."""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, forbidden, invalid
from gateway.validation.pod_resources import MIRROR_ANNOTATION
from gateway.validation.qos import qos_class

_RESIZABLE = ("cpu", "memory")
_ONLY = "only cpu and memory resources are mutable"


def validate_pod_resize(
    new: JsonObject, old: JsonObject, errors: list[FieldError], *, claims_stay: bool, own_if_set: bool
) -> None:
    """Adds the errors of a resize to `errors`, which has those of the new pod itself. `new` and `old` are pods.

    `claims_stay` is whether a container has to keep its claims; otherwise a resize fails where it has some.
    `own_if_set` is that of `qos_class`. For a static pod or a Windows pod, a single error replaces all others.
    """
    if MIRROR_ANNOTATION in ((old.get("metadata") or {}).get("annotations") or {}):
        errors[:] = [forbidden("[]", "static pods cannot be resized")]
        return
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if (before.get("os") or {}).get("name") == "windows":
        errors[:] = [forbidden("[]", "windows pods cannot be resized")]
        return
    old_class = (old.get("status") or {}).get("qosClass") or qos_class(before, own_if_set=own_if_set)
    if old_class != qos_class(spec, own_if_set=own_if_set):
        shown = (new.get("status") or {}).get("qosClass", "")
        errors.append(invalid("spec", shown, "Pod QOS Class may not change as a result of resizing"))
    if not _is_supported(old):
        errors.append(forbidden("spec", "Pod running on node without support for resize"))
    munged = dict(spec)
    if _has_resources(spec) or _has_resources(before):
        _pod_level(munged, before, errors)
    if not _same_containers(spec, before, errors):
        return
    for key in ("initContainers", "containers"):
        for i, (container, previous) in enumerate(zip(spec.get(key) or (), before.get(key) or (), strict=True)):
            _removed(container, previous, f"spec.{key}[{i}].resources", errors)
    _containers(munged, before, errors, claims_stay)
    _init_containers(munged, before, errors, claims_stay)
    if not errors and munged != before:
        errors.append(forbidden("spec", _ONLY))


def _is_supported(pod: JsonObject) -> bool:
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if "running" in (status.get("state") or {}):
            return "resources" in status
    return True


def _has_resources(spec: JsonObject) -> bool:
    resources = spec.get("resources") or {}
    return bool(resources.get("requests") or resources.get("limits"))


def _pod_level(munged: JsonObject, before: JsonObject, errors: list[FieldError]) -> None:
    new, old = munged.get("resources"), before.get("resources")
    if old is not None:
        if new is None:
            errors.append(forbidden("spec.resources", "pod-level resources cannot be removed"))
            return
        for key in ("requests", "limits"):
            if _lacks(new.get(key) or {}, old.get(key) or {}):
                text = f"pod-level resource {key} cannot be removed"
                errors.append(forbidden(f"spec.resources.{key}", text))
    kept = _with_old_resources(new or {}, old or {})
    if old is None and not kept:
        munged.pop("resources", None)
    else:
        munged["resources"] = kept
    if munged.get("resources") != old:
        errors.append(forbidden("spec", f"{_ONLY} at pod-level"))


def _lacks(new: dict[str, Any], old: dict[str, Any]) -> bool:
    return any(name not in new for name in old)


def _with_old_resources(new: JsonObject, old: JsonObject) -> JsonObject:
    """The new resource requirements with the old CPU and memory."""
    kept: JsonObject = {key: value for key, value in new.items() if key not in ("limits", "requests")}
    for key in ("limits", "requests"):
        values = {name: value for name, value in (new.get(key) or {}).items() if name not in _RESIZABLE}
        values |= {name: value for name, value in (old.get(key) or {}).items() if name in _RESIZABLE}
        if values:
            kept[key] = values
    return kept


def _same_containers(spec: JsonObject, before: JsonObject, errors: list[FieldError]) -> bool:
    count = len(errors)
    for key in ("containers", "initContainers"):
        new, old = spec.get(key) or [], before.get(key) or []
        if len(new) != len(old):
            errors.append(forbidden(f"spec.{key}", f"{key} may not be added or removed on resize"))
            continue
        for i, (container, previous) in enumerate(zip(new, old, strict=True)):
            if container.get("name") != previous.get("name"):
                text = f"{key} may not be renamed or reordered on resize"
                errors.append(forbidden(f"spec.{key}[{i}].name", text))
    return len(errors) == count


def _removed(container: JsonObject, previous: JsonObject, path: str, errors: list[FieldError]) -> None:
    new, old = container.get("resources") or {}, previous.get("resources") or {}
    for key in ("requests", "limits"):
        if _lacks(new.get(key) or {}, old.get(key) or {}):
            errors.append(forbidden(f"{path}.{key}", f"resource {key} cannot be removed"))


def _restored(container: JsonObject, previous: JsonObject, claims_stay: bool) -> JsonObject:
    """The new container with the old CPU and memory, and without claims unless those have to stay."""
    resources = _with_old_resources(container.get("resources") or {}, previous.get("resources") or {})
    if not claims_stay:
        resources.pop("claims", None)
    return {**container, "resources": resources}


def _containers(munged: JsonObject, before: JsonObject, errors: list[FieldError], claims_stay: bool) -> None:
    restored = []
    for container, previous in zip(munged.get("containers") or (), before.get("containers") or (), strict=True):
        restored.append(_restored(container, previous, claims_stay))
        if restored[-1] != {"resources": {}, **previous}:
            errors.append(forbidden("spec", _ONLY))
    munged["containers"] = restored


def _init_containers(munged: JsonObject, before: JsonObject, errors: list[FieldError], claims_stay: bool) -> None:
    if "initContainers" not in munged:
        return
    restored = []
    pairs = zip(munged["initContainers"], before.get("initContainers") or (), strict=True)
    for i, (container, previous) in enumerate(pairs):
        path = f"spec.initContainers[{i}]"
        restored.append(_restored(container, previous, claims_stay))
        if restored[-1] != {"resources": {}, **previous}:
            text = "only cpu and memory resources for init or sidecar containers are mutable"
            errors.append(forbidden(path, text))
        if container == previous or container.get("restartPolicy") == "Always":
            continue
        for policy in container.get("resizePolicy") or ():
            if policy.get("restartPolicy") == "RestartContainer":
                text = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
                errors.append(forbidden(path, text))
    munged["initContainers"] = restored
