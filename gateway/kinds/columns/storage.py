"""Columns of volumes, claims and the kinds of storage.k8s.io."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Columns,
    age,
    boolean,
    column,
    integer,
    joined,
    name_of,
    part,
    wide,
)

_ACCESS_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _volume(obj: JsonObject) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    claim = spec.get("claimRef")
    return [
        name_of(obj),
        part(spec, "capacity").get("storage", "0"),
        _access_modes(spec),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(obj),
        "" if claim is None else f"{claim.get('namespace', '')}/{claim.get('name', '')}",
        _class(obj),
        spec.get("volumeAttributesClassName", UNSET),
        status.get("reason", ""),
        age(obj),
        spec.get("volumeMode", UNSET),
    ]


def _claim(obj: JsonObject) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    volume = spec.get("volumeName", "")
    return [
        name_of(obj),
        _phase(obj),
        volume,
        part(status, "capacity").get("storage", "0") if volume else "",
        _access_modes(status) if volume else "",
        _class(obj),
        spec.get("volumeAttributesClassName", UNSET),
        age(obj),
        spec.get("volumeMode", UNSET),
    ]


def _phase(obj: JsonObject) -> str:
    phase: str = part(obj, "status").get("phase", "")
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else phase


def _class(obj: JsonObject) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    name: str = (
        annotations[_BETA_CLASS] if _BETA_CLASS in annotations else part(obj, "spec").get("storageClassName", "")
    )
    return name


def _access_modes(holder: JsonObject) -> str:
    modes = holder.get("accessModes") or ()
    return ",".join([short for mode, short in _ACCESS_MODES.items() if mode in modes])


def _storage_class(obj: JsonObject) -> list[Cell]:
    annotations = obj["metadata"].get("annotations") or {}
    default = " (default)" if any(annotations.get(key) == "true" for key in _DEFAULT_CLASS) else ""
    return [
        name_of(obj) + default,
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        obj.get("allowVolumeExpansion", False),
        age(obj),
    ]


def _attributes_class(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), obj.get("driverName", ""), age(obj)]


def _attachment(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        spec.get("attacher", ""),
        part(spec, "source").get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        part(obj, "status").get("attached", False),
        age(obj),
    ]


def _csi_node(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), len(part(obj, "spec").get("drivers") or ()), age(obj)]


def _csi_driver(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    requests = spec.get("tokenRequests")
    return [
        name_of(obj),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        UNSET if requests is None else ",".join([one.get("audience", "") for one in requests]),
        spec.get("requiresRepublish", False),
        joined(spec.get("volumeLifecycleModes") or (), NONE),
        age(obj),
    ]


COLUMNS = {
    ("", "PersistentVolume"): Columns(
        (
            NAME,
            column("Capacity", "core.v1.PersistentVolumeSpec.capacity"),
            column("Access Modes", "core.v1.PersistentVolumeSpec.accessModes"),
            column("Reclaim Policy", "core.v1.PersistentVolumeSpec.persistentVolumeReclaimPolicy"),
            column("Status", "core.v1.PersistentVolumeStatus.phase"),
            column("Claim", "core.v1.PersistentVolumeSpec.claimRef"),
            column("StorageClass"),
            column("VolumeAttributesClass"),
            column("Reason", "core.v1.PersistentVolumeStatus.reason"),
            AGE,
            wide("VolumeMode", "core.v1.PersistentVolumeSpec.volumeMode"),
        ),
        _volume,
    ),
    ("", "PersistentVolumeClaim"): Columns(
        (
            NAME,
            column("Status", "core.v1.PersistentVolumeClaimStatus.phase"),
            column("Volume", "core.v1.PersistentVolumeClaimSpec.volumeName"),
            column("Capacity", "core.v1.PersistentVolumeClaimStatus.capacity"),
            column("Access Modes", "core.v1.PersistentVolumeClaimStatus.accessModes"),
            column("StorageClass"),
            column("VolumeAttributesClass"),
            AGE,
            wide("VolumeMode", "core.v1.PersistentVolumeClaimSpec.volumeMode"),
        ),
        _claim,
    ),
    ("storage.k8s.io", "StorageClass"): Columns(
        (
            NAME,
            column("Provisioner", "storage.v1.StorageClass.provisioner"),
            column("ReclaimPolicy", "storage.v1.StorageClass.reclaimPolicy"),
            column("VolumeBindingMode", "storage.v1.StorageClass.volumeBindingMode"),
            column("AllowVolumeExpansion", "storage.v1.StorageClass.allowVolumeExpansion"),
            AGE,
        ),
        _storage_class,
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): Columns(
        (NAME, column("DriverName", "storage.v1.VolumeAttributesClass.driverName"), AGE), _attributes_class
    ),
    ("storage.k8s.io", "VolumeAttachment"): Columns(
        (
            NAME,
            column("Attacher", "storage.v1.VolumeAttachmentSpec.attacher")._replace(format="name"),
            column("PV", "storage.v1.VolumeAttachmentSource.persistentVolumeName"),
            column("Node", "storage.v1.VolumeAttachmentSpec.nodeName"),
            boolean("Attached", "storage.v1.VolumeAttachmentStatus.attached"),
            AGE,
        ),
        _attachment,
    ),
    ("storage.k8s.io", "CSINode"): Columns((NAME, integer("Drivers"), AGE), _csi_node),
    ("storage.k8s.io", "CSIDriver"): Columns(
        (
            NAME,
            boolean("AttachRequired", "storage.v1.CSIDriverSpec.attachRequired"),
            boolean("PodInfoOnMount", "storage.v1.CSIDriverSpec.podInfoOnMount"),
            boolean("StorageCapacity", "storage.v1.CSIDriverSpec.storageCapacity"),
            column("TokenRequests", "storage.v1.CSIDriverSpec.tokenRequests"),
            boolean("RequiresRepublish", "storage.v1.CSIDriverSpec.requiresRepublish"),
            column("Modes", "storage.v1.CSIDriverSpec.volumeLifecycleModes"),
            AGE,
        ),
        _csi_driver,
    ),
}
