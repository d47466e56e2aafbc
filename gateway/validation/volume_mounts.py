"""Volume mounts and block devices of a container."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.jsontypes import JsonObject
from gateway.validation.field import FieldError, duplicate, forbidden, invalid, not_found, not_supported, required
from gateway.validation.local_paths import validate_local_descending_path, validate_no_backsteps

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_BIND_OPTIONS = ("nodev", "noexec", "nosuid")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def validate_volume_mounts(
    mounts: list[JsonObject],
    container: JsonObject,
    volumes: Mapping[str, JsonObject],
    path: str,
    errors: list[FieldError],
) -> None:
    """`volumes` are the pod's valid volumes by name. As in kube-apiserver, some paths lack the index of the mount."""
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices") or ()}
    device_paths = frozenset(devices.values())
    points: set[str] = set()
    for i, mount in enumerate(mounts):
        name, point = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{path}[{i}].name"))
        if name not in volumes:
            errors.append(not_found(f"{path}[{i}].name", name))
        if not point:
            errors.append(required(f"{path}[{i}].mountPath"))
        if point in points:
            errors.append(invalid(f"{path}[{i}].mountPath", point, "must be unique"))
        points.add(point)
        if devices:
            if name in devices:
                errors.append(invalid(f"{path}[{i}].name", name, "must not already exist in volumeDevices"))
            if point in device_paths:
                text = "must not already exist as a path in volumeDevices"
                errors.append(invalid(f"{path}[{i}].mountPath", point, text))
        _sub_path(mount, path, i, errors)
        if "mountPropagation" in mount:
            _propagation(mount["mountPropagation"], container, f"{path}.mountPropagation", errors)
        if "recursiveReadOnly" in mount:
            _recursive_read_only(mount, f"{path}.recursiveReadOnly", errors)
        if mount.get("bindMountOptions"):
            _bind_options(mount["bindMountOptions"], volumes.get(name), f"{path}[{i}].bindMountOptions", errors)


def _sub_path(mount: JsonObject, path: str, i: int, errors: list[FieldError]) -> None:
    sub_path, expression = mount.get("subPath"), mount.get("subPathExpr")
    if sub_path:
        errors += validate_local_descending_path(sub_path, f"{path}.subPath")
    if expression:
        if sub_path:
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{path}[{i}].subPathExpr", expression, text))
        errors += validate_local_descending_path(expression, f"{path}.subPathExpr")


def _propagation(propagation: str, container: JsonObject, path: str, errors: list[FieldError]) -> None:
    if propagation not in _PROPAGATIONS:
        errors.append(not_supported(path, propagation, _PROPAGATIONS))
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        text = "Bidirectional mount propagation is available only to privileged containers"
        errors.append(forbidden(path, text))


def _recursive_read_only(mount: JsonObject, path: str, errors: list[FieldError]) -> None:
    value = mount["recursiveReadOnly"]
    if value not in _RECURSIVE:
        errors.append(not_supported(path, value, _RECURSIVE))
    elif value != "Disabled":
        if not mount.get("readOnly"):
            errors.append(forbidden(path, "may only be specified when readOnly is true"))
        if mount.get("mountPropagation", "None") != "None":
            errors.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))


def _bind_options(options: list[str], volume: JsonObject | None, path: str, errors: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, option in enumerate(options):
        if option not in _BIND_OPTIONS:
            errors.append(not_supported(f"{path}[{i}]", option, _BIND_OPTIONS))
        if option in seen:
            errors.append(duplicate(f"{path}[{i}]", option))
        seen.add(option)
    if volume is not None and "image" in volume:
        errors.append(invalid(path, options, "bindMountOptions may not be used with image volumes"))


def validate_volume_devices(
    devices: list[JsonObject],
    container: JsonObject,
    volumes: Mapping[str, JsonObject],
    path: str,
    errors: list[FieldError],
) -> None:
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts") or ()}
    mount_paths = frozenset(mounts.values())
    names: set[str] = set()
    paths: set[str] = set()
    for i, device in enumerate(devices):
        name, target, at = device.get("name", ""), device.get("devicePath", ""), f"{path}[{i}]"
        volume = volumes.get(name)
        if not name:
            errors.append(required(f"{at}.name"))
        if name in names:
            errors.append(invalid(f"{at}.name", name, "must be unique"))
        if volume is None:
            errors.append(not_found(f"{at}.name", name))
        elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(f"{at}.name", name, text))
        if not target:
            errors.append(required(f"{at}.devicePath"))
        if target in paths:
            errors.append(invalid(f"{at}.devicePath", target, "must be unique"))
        if target and validate_no_backsteps(target, ""):
            errors.append(invalid(f"{at}.devicePath", target, "can not contain backsteps ('..')"))
        else:
            paths.add(target)
        if name in mounts:
            errors.append(invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
        if target in mount_paths:
            text = "must not already exist as a path in volumeMounts"
            errors.append(invalid(f"{at}.devicePath", target, text))
        if name:
            names.add(name)
