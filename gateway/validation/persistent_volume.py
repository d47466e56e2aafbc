"""The spec of a PersistentVolume, also as the inline spec in a VolumeAttachment (page "Persistent Volumes")."""

from __future__ import annotations

from collections.abc import Callable
from posixpath import normpath

from gateway.jsontypes import JsonObject
from gateway.validation.checks import each, known
from gateway.validation.claim_spec import ACCESS_MODES, VOLUME_MODES
from gateway.validation.field import FieldError, forbidden, invalid, not_supported, required
from gateway.validation.formats import validate_dns1123_label, validate_dns1123_subdomain
from gateway.validation.local_paths import validate_no_backsteps
from gateway.validation.names import byte_length, is_dns1123_label, is_dns1123_subdomain
from gateway.validation.quantities import quantity_of
from gateway.validation.scheduling import validate_node_selector
from gateway.validation.volume_sources import SOURCES, needs, validate_csi_driver_name, validate_flex, validate_iscsi

RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
INLINE = "may not be specified in the context of inline volumes"
Check = Callable[[JsonObject, str, list[FieldError]], None]


def validate_volume_spec(
    spec: JsonObject, path: str, volume_name: str, *, inline: bool = False, any_label_value: bool = False
) -> list[FieldError]:
    found: list[FieldError] = []
    if inline:
        found += [forbidden(f"{path}.{key}", INLINE) for key in ("claimRef", "capacity") if spec.get(key)]
        if "csi" not in spec:
            found.append(required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    found += _access_modes(spec.get("accessModes") or [], f"{path}.accessModes")
    if not inline:
        found += _capacity(spec.get("capacity"), f"{path}.capacity")
    policy, at = spec.get("persistentVolumeReclaimPolicy"), f"{path}.persistentVolumeReclaimPolicy"
    if policy and inline and policy != "Retain":
        found.append(forbidden(at, "may only be Retain in the context of inline volumes"))
    elif policy and not inline:
        found += known(at, policy, RECLAIM_POLICIES)
    if (affinity := spec.get("nodeAffinity")) is not None:
        found += _node_affinity(affinity, f"{path}.nodeAffinity", inline, any_label_value)
    found += _sources(spec, path, volume_name, inline)
    host_path = (spec.get("hostPath") or {}).get("path", "")
    if policy == "Recycle" and host_path.startswith("/") and normpath(host_path) in ("/", "//"):
        found.append(forbidden(at, "may not be 'recycle' for a hostPath mount of '/'"))
    return found + _class_and_mode(spec, path, inline)


def _access_modes(modes: list[str], path: str) -> list[FieldError]:
    found = [] if modes else [required(path)]
    found += [not_supported(path, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES and mode != "ReadWriteOncePod" for mode in modes):
        found.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return found


def _capacity(capacity: dict[str, str] | None, path: str) -> list[FieldError]:
    found = [] if capacity else [required(path)]
    if capacity is None or "storage" not in capacity or len(capacity) > 1:
        found.append(not_supported(path, capacity, ("storage",)))
    for name, value in (capacity or {}).items():
        quantity = quantity_of(value)
        if quantity.value < 0:
            found.append(invalid(f"{path}[{name}]", quantity.value, "must be a valid resource quantity"))
        if quantity.unscaled <= 0:
            found.append(invalid(f"{path}[{name}]", value, "must be greater than zero"))
    return found


def _node_affinity(affinity: JsonObject, path: str, inline: bool, any_value: bool) -> list[FieldError]:
    if inline:
        return [forbidden(path, INLINE)]
    if (selector := affinity.get("required")) is None:
        return [required(f"{path}.required", "must specify required node constraints")]
    found: list[FieldError] = []
    validate_node_selector(selector, f"{path}.required", found, any_value=any_value)
    return found


def _sources(spec: JsonObject, path: str, volume_name: str, inline: bool) -> list[FieldError]:
    found, count = list[FieldError](), 0
    for key, shown, inner, check in _CHECKS:
        source = spec.get(key)
        if source is None:
            continue
        if count and key != "flexVolume":
            found.append(forbidden(f"{path}.{shown}", "may not specify more than 1 volume type"))
            continue
        count += 1
        if key == "iscsi":
            found += _iscsi_errors(source, f"{path}.{inner}", volume_name)
        else:
            check(source, f"{path}.{inner}", found)
        if key == "local" and (inline or "nodeAffinity" not in spec):
            found.append(required(f"{path}.nodeAffinity", "Local volume requires node affinity"))
    return found if count else [*found, required(path, "must specify a volume type")]


def _class_and_mode(spec: JsonObject, path: str, inline: bool) -> list[FieldError]:
    found: list[FieldError] = []
    if name := spec.get("storageClassName"):
        at = f"{path}.storageClassName"
        found += [forbidden(at, INLINE)] if inline else each(at, name, is_dns1123_subdomain(name))
    if (mode := spec.get("volumeMode")) is not None:
        at = f"{path}.volumeMode"
        if not inline:
            found += known(at, mode, VOLUME_MODES)
        elif mode != "Filesystem":
            found.append(
                forbidden(at, "may not specify volumeMode other than Filesystem in the context of inline volumes")
            )
    name = spec.get("volumeAttributesClassName")
    if name is not None and not inline:
        at = f"{path}.volumeAttributesClassName"
        found += each(at, name, is_dns1123_subdomain(name)) if name else [required(at, "an empty string is disallowed")]
        if "csi" not in spec:
            found.append(required(f"{path}.csi", "has to be specified when using volumeAttributesClassName"))
    return found


_ISCSI_ORDER = ("targetPortal", "targetportal", "iqn", "lun", "secretRef", "secretRef.name", "initiatorname")


def _iscsi_errors(source: JsonObject, path: str, volume_name: str) -> list[FieldError]:
    found = list[FieldError]()
    _iscsi(source, path, found)
    _portal_length(source, path, volume_name, found)
    return sorted(found, key=lambda error: _ISCSI_ORDER.index(error.field.removeprefix(f"{path}.")))


def _portal_length(source: JsonObject, path: str, volume_name: str, errors: list[FieldError]) -> None:
    portal = source.get("targetPortal", "")
    if "initiatorName" in source and byte_length(f"{volume_name}:{portal}") > 64:
        text = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified."
        )
        errors.append(invalid(f"{path}.targetportal", portal, text))


def _iscsi(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    validate_iscsi(source, path, errors, "must be valid format")
    if "secretRef" in source and not source["secretRef"].get("name"):
        errors.append(required(f"{path}.secretRef.name"))


def _glusterfs(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    needs("endpoints", "path")(source, path, errors)
    if (namespace := source.get("endpointsNamespace")) is not None:
        at = f"{path}.endpointsNamespace"
        if not namespace:
            errors.append(invalid(at, namespace, "if the endpointnamespace is set, it must be a valid namespace name"))
        else:
            errors += each(at, namespace, is_dns1123_label(namespace))


def _secret(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    if (secret := source.get("secretRef")) is not None:
        needs("name", "namespace")(secret, f"{path}.secretRef", errors)


def _cinder(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    needs("volumeID")(source, path, errors)
    _secret(source, path, errors)


def _azure_file(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    needs("secretName", "shareName")(source, path, errors)
    if source.get("secretNamespace") == "":
        errors.append(required(f"{path}.secretNamespace"))


def _local(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    target = source.get("path", "")
    errors += validate_no_backsteps(target, f"{path}.path") if target else [required(f"{path}.path")]


def _storage_os(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    name, namespace = source.get("volumeName"), source.get("volumeNamespace")
    errors += validate_dns1123_label(f"{path}.volumeName", name) if name else [required(f"{path}.volumeName")]
    if namespace:
        errors += validate_dns1123_label(f"{path}.volumeNamespace", namespace)
    _secret(source, path, errors)


def _csi(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    errors += validate_csi_driver_name(source.get("driver", ""), f"{path}.driver")
    needs("volumeHandle")(source, path, errors)
    for kind in ("controllerPublish", "controllerExpand", "nodePublish", "nodeExpand"):
        secret, at = source.get(f"{kind}SecretRef"), f"{path}.{kind}SecretRef"
        if secret is None:
            continue
        for key, rule in (("name", validate_dns1123_subdomain), ("namespace", validate_dns1123_label)):
            value = secret.get(key)
            errors += rule(f"{at}.{key}", value) if value else [required(f"{at}.{key}")]


_OF_PODS: dict[str, Check] = {key: check for key, _, _, check in SOURCES}
# (field, name in "more than 1 volume type", name in the paths of its own fields, check), in kube-apiserver's order
_CHECKS: tuple[tuple[str, str, str, Check], ...] = (
    ("hostPath", "hostPath", "hostPath", _OF_PODS["hostPath"]),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk", _OF_PODS["gcePersistentDisk"]),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore", _OF_PODS["awsElasticBlockStore"]),
    ("glusterfs", "glusterfs", "glusterfs", _glusterfs),
    ("flocker", "flocker", "flocker", _OF_PODS["flocker"]),
    ("nfs", "nfs", "nfs", _OF_PODS["nfs"]),
    ("rbd", "rbd", "rbd", _OF_PODS["rbd"]),
    ("quobyte", "quobyte", "quobyte", _OF_PODS["quobyte"]),
    ("cephfs", "cephFS", "cephfs", needs("monitors")),
    ("iscsi", "iscsi", "iscsi", _iscsi),
    ("cinder", "cinder", "cinder", _cinder),
    ("fc", "fc", "fc", _OF_PODS["fc"]),
    ("flexVolume", "flexVolume", "flexVolume", validate_flex),
    ("azureFile", "azureFile", "azureFile", _azure_file),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume", _OF_PODS["vsphereVolume"]),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk", _OF_PODS["photonPersistentDisk"]),
    ("portworxVolume", "portworxVolume", "portworxVolume", _OF_PODS["portworxVolume"]),
    ("azureDisk", "azureDisk", "azureDisk", _OF_PODS["azureDisk"]),
    ("scaleIO", "scaleIO", "scaleIO", needs("gateway", "system", "volumeName")),
    ("local", "local", "local", _local),
    ("storageos", "storageos", "storageos", _storage_os),
    ("csi", "csi", "csi", _csi),
)
SOURCE_KEYS = tuple(key for key, _, _, _ in _CHECKS)
