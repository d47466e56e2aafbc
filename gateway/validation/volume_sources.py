"""Sources of volumes that pods mount, apart from projected ones: a check for each, in `SOURCES`.

If a volume has several sources, the first in the order of `SOURCES` counts. The last part of a path is not always the
field's name; these exceptions are kube-apiserver's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gateway.jsontypes import JsonObject
from gateway.validation.container_env import validate_field_reference, validate_resource_reference
from gateway.validation.field import FieldError, invalid, not_supported, required, too_long
from gateway.validation.formats import is_user_id, validate_dns1123_label
from gateway.validation.local_paths import (
    validate_local_descending_path,
    validate_local_non_reserved_path,
    validate_no_backsteps,
)
from gateway.validation.names import byte_length, is_dns1123_subdomain, range_message
from gateway.validation.names import name_is_dns_subdomain as _name_is_dns_subdomain

Check = Callable[[JsonObject, str, list[FieldError]], None]

FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
DOWNWARD_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_HOST_PATH_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
)
_has_iqn = re.compile(r"iqn\.\d{4}-\d{2}\.([0-9A-Za-z\-.]+)(:[^,;*&$|\s]+)\Z", re.ASCII).search
_is_eui = re.compile(r"eui.[0-9A-Za-z]{16}").fullmatch
_is_naa = re.compile(r"naa.[0-9A-Za-z]{32}").fullmatch


def validate_mode(source: JsonObject, key: str, path: str, errors: list[FieldError]) -> None:
    """The mode, if there is one, must be the permission bits of a file. So the user that goes with it must be one."""
    mode = source.get(key)
    if mode is not None and not 0 <= mode <= 0o777:
        errors.append(invalid(f"{path}.{key}", mode, FILE_MODE))
    validate_user(source, _USERS[key], path, errors)


_USERS = {"mode": "user", "defaultMode": "defaultUser"}


def validate_user(source: JsonObject, key: str, path: str, errors: list[FieldError]) -> None:
    """The user that files belong to, if there is one, must be a user of Linux."""
    if (user := source.get(key)) is not None:
        errors += [invalid(f"{path}.{key}", user, message) for message in is_user_id(user)]


def needs(*keys: str) -> Check:
    """Returns a check that these fields are not empty."""

    def check(source: JsonObject, path: str, errors: list[FieldError]) -> None:
        errors += [required(f"{path}.{key}") for key in keys if not source.get(key)]

    return check


def _host_path(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    target, kind = source.get("path"), source.get("type", "")
    if not target:
        errors.append(required(f"{path}.path"))
        return
    errors += validate_no_backsteps(target, f"{path}.path")
    if kind not in _HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _HOST_PATH_TYPES))


def _git_repo(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    if not source.get("repository"):
        errors.append(required(f"{path}.repository"))
    errors += validate_local_descending_path(source.get("directory", ""), f"{path}.directory")


def _disk(key: str) -> Check:
    def check(source: JsonObject, path: str, errors: list[FieldError]) -> None:
        if not source.get(key):
            errors.append(required(f"{path}.{key}"))
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            errors.append(invalid(f"{path}.partition", partition, range_message(1, 255)))

    return check


def validate_key_to_path(item: JsonObject, path: str, errors: list[FieldError]) -> None:
    if not item.get("key"):
        errors.append(required(f"{path}.key"))
    target = item.get("path", "")
    if not target:
        errors.append(required(f"{path}.path"))
    errors += validate_local_non_reserved_path(target, f"{path}.path")
    validate_mode(item, "mode", path, errors)


def _keys(name_key: str) -> Check:
    """Returns the check of a Secret or ConfigMap source. `name_key` is the field with the object's name."""

    def check(source: JsonObject, path: str, errors: list[FieldError]) -> None:
        if not source.get(name_key):
            errors.append(required(f"{path}.{name_key}"))
        validate_mode(source, "defaultMode", path, errors)
        for i, item in enumerate(source.get("items") or ()):
            validate_key_to_path(item, f"{path}.items[{i}]", errors)

    return check


def _nfs(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    needs("server", "path")(source, path, errors)
    target = source.get("path", "")
    if not target.startswith("/"):
        errors.append(invalid(f"{path}.path", target, "must be an absolute path"))


def validate_iscsi_name(name: str, path: str, errors: list[FieldError], *, prefix_text: str) -> None:
    """The name must be an iSCSI qualified name in iqn, eui or naa format (RFC 3720 section 3.2.6)."""
    formats = {"iqn": _has_iqn, "eui": _is_eui, "naa": _is_naa}
    matches = formats.get(name[:3])
    if matches is None:
        errors.append(invalid(path, name, prefix_text))
    elif not matches(name):
        errors.append(invalid(path, name, "must be valid format"))


def validate_iscsi(
    source: JsonObject,
    path: str,
    errors: list[FieldError],
    prefix_text: str = "must be valid format starting with iqn, eui, or naa",
) -> None:
    if not source.get("targetPortal"):
        errors.append(required(f"{path}.targetPortal"))
    name, lun = source.get("iqn"), source.get("lun", 0)
    if not name:
        errors.append(required(f"{path}.iqn"))
    else:
        validate_iscsi_name(name, f"{path}.iqn", errors, prefix_text=prefix_text)
    if not 0 <= lun <= 255:
        errors.append(invalid(f"{path}.lun", lun, range_message(0, 255)))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        errors.append(required(f"{path}.secretRef"))
    if "initiatorName" in source:
        validate_iscsi_name(source["initiatorName"], f"{path}.initiatorname", errors, prefix_text=prefix_text)


def _quobyte(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    registry, text = source.get("registry", ""), "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        errors.append(required(f"{path}.registry", text))
    elif byte_length(source.get("tenant", "")) >= 65:
        errors.append(required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters"))
    else:
        errors += [
            invalid(f"{path}.registry", registry, text) for pair in registry.split(",") if not _is_host_port(pair)
        ]
    if not source.get("volume"):
        errors.append(required(f"{path}.volume"))


_is_host_port = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*").fullmatch


def _flocker(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID")
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        errors.append(invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    if "/" in name:
        errors.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))


def _rbd(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    needs("monitors", "image")(source, path, errors)


def _cinder(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    if not source.get("volumeID"):
        errors.append(required(f"{path}.volumeID"))
    _secret_name(source, path, errors)


def _secret_name(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    secret = source.get("secretRef")
    if secret is not None and not secret.get("name"):
        errors.append(required(f"{path}.secretRef.name"))


def validate_downward_file(file: JsonObject, path: str, errors: list[FieldError]) -> None:
    target, field, resource = file.get("path", ""), file.get("fieldRef"), file.get("resourceFieldRef")
    if not target:
        errors.append(required(f"{path}.path"))
    errors += validate_local_non_reserved_path(target, f"{path}.path")
    if field is not None:
        validate_field_reference(field, f"{path}.fieldRef", errors, DOWNWARD_FIELDS)
        if resource is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", text))
    elif resource is not None:
        validate_resource_reference(resource, f"{path}.resourceFieldRef", errors, container_required=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    validate_mode(file, "mode", path, errors)


def _downward(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    validate_mode(source, "defaultMode", path, errors)
    for file in source.get("items") or ():
        validate_downward_file(file, path, errors)


def validate_fibre_channel(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    names, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    if not names and not ids:
        errors.append(required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        text = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid(f"{path}.targetWWNs", names, text))
    if names:
        if lun is None:
            errors.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
        elif not 0 <= lun <= 255:
            errors.append(invalid(f"{path}.lun", lun, range_message(0, 255)))


def validate_flex(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    if not source.get("driver"):
        errors.append(required(f"{path}.driver"))
    for key in source.get("options") or ():
        if f".{key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(f"{path}.options[{key}]", key, text))


def validate_azure_disk(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    needs("diskName", "diskURI")(source, path, errors)
    uri, caching, kind = source.get("diskURI", ""), source.get("cachingMode"), source.get("kind")
    if caching is not None and caching not in ("None", "ReadOnly", "ReadWrite"):
        errors.append(not_supported(f"{path}.cachingMode", caching, ("None", "ReadOnly", "ReadWrite")))
    if kind is not None and kind not in ("Dedicated", "Managed", "Shared"):
        errors.append(not_supported(f"{path}.kind", kind, ("Dedicated", "Managed", "Shared")))
    managed = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
    blob = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        errors.append(not_supported(f"{path}.diskURI", uri, (managed,)))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        errors.append(not_supported(f"{path}.diskURI", uri, (blob,)))


def _storage_os(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    name, namespace = source.get("volumeName"), source.get("volumeNamespace")
    errors += validate_dns1123_label(f"{path}.volumeName", name) if name else [required(f"{path}.volumeName")]
    if namespace:
        errors += validate_dns1123_label(f"{path}.volumeNamespace", namespace)
    _secret_name(source, path, errors)


def validate_csi_driver_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    found = [too_long(path, 63)] if byte_length(name) > 63 else []
    return found + [invalid(path, name, message) for message in is_dns1123_subdomain(name.lower())]


def _csi(source: JsonObject, path: str, errors: list[FieldError]) -> None:
    errors += validate_csi_driver_name(source.get("driver", ""), f"{path}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return
    name = secret.get("name")
    if not name:
        errors.append(required(f"{path}.nodePublishSecretRef.name"))
    else:
        errors += [invalid(f"{path}.name", name, message) for message in _name_is_dns_subdomain(name, False)]


# (source, its name in "more than one source", its name in paths, the check), in order
SOURCES: Sequence[tuple[str, str, str, Check]] = (
    ("hostPath", "hostPath", "hostPath", _host_path),
    ("gitRepo", "gitRepo", "gitRepo", _git_repo),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk", _disk("pdName")),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore", _disk("volumeID")),
    ("secret", "secret", "secret", _keys("secretName")),
    ("nfs", "nfs", "nfs", _nfs),
    ("iscsi", "iscsi", "iscsi", validate_iscsi),
    ("glusterfs", "glusterfs", "glusterfs", needs("endpoints", "path")),
    ("flocker", "flocker", "flocker", _flocker),
    ("persistentVolumeClaim", "persistentVolumeClaim", "persistentVolumeClaim", needs("claimName")),
    ("rbd", "rbd", "rbd", _rbd),
    ("cinder", "cinder", "cinder", _cinder),
    ("cephfs", "cephFS", "cephfs", needs("monitors")),
    ("quobyte", "quobyte", "quobyte", _quobyte),
    ("downwardAPI", "downwarAPI", "downwardAPI", _downward),
    ("fc", "fc", "fc", validate_fibre_channel),
    ("flexVolume", "flexVolume", "flexVolume", validate_flex),
    ("configMap", "configMap", "configMap", _keys("name")),
    ("azureFile", "azureFile", "azureFile", needs("secretName", "shareName")),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume", needs("volumePath")),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk", needs("pdID")),
    ("portworxVolume", "portworxVolume", "portworxVolume", needs("volumeID")),
    ("azureDisk", "azureDisk", "azureDisk", validate_azure_disk),
    ("storageos", "storageos", "storageos", _storage_os),
)
AFTER_PROJECTED: Sequence[tuple[str, str, str, Check]] = (
    ("scaleIO", "scaleIO", "scaleIO", needs("gateway", "system", "volumeName")),
    ("csi", "csi", "csi", _csi),
)
