"""PersistentVolumes: the source is immutable; the status has the time of the last phase transition."""

from __future__ import annotations

from collections.abc import Iterator

from gateway.jsontypes import JsonObject
from gateway.kinds.strategies.status import keep_spec, keep_status
from gateway.kinds.strategy import Strategy, on_update
from gateway.kinds.write_context import WriteContext
from gateway.schema.times import instant
from gateway.validation.checks import immutable, same
from gateway.validation.field import FieldError, forbidden, invalid, required
from gateway.validation.go_structs import verbatim, volume_source_difference
from gateway.validation.names import is_label_value
from gateway.validation.node_labels import expression_warnings
from gateway.validation.objectmeta import IMMUTABLE, validate_object_meta
from gateway.validation.persistent_volume import SOURCE_KEYS, validate_volume_spec

MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_MOUNTABLE = [
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
]
_DEPRECATED_ANNOTATIONS = {
    CLASS_ANNOTATION: 'deprecated since v1.8; use "storageClassName" attribute instead',
    MOUNT_OPTIONS: 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_DEPRECATED_SOURCES = {
    "cephfs": "spec.cephfs: deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "spec.photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "spec.scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "storageos": "spec.storageOS: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "spec.glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "rbd": "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
}
_TO_GA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def _terms(obj: JsonObject) -> list[JsonObject]:
    affinity = obj.get("spec", {}).get("nodeAffinity") or {}
    terms: list[JsonObject] = (affinity.get("required") or {}).get("nodeSelectorTerms") or []
    return terms


def _has_invalid_value(obj: JsonObject) -> bool:
    return any(
        is_label_value(value)
        for term in _terms(obj)
        for expression in term.get("matchExpressions") or ()
        for value in expression.get("values") or ()
    )


def _validate_volume(obj: JsonObject, any_label_value: bool) -> list[FieldError]:
    spec, name = obj.get("spec", {}), obj["metadata"].get("name", "")
    return validate_volume_spec(spec, "spec", name, any_label_value=any_label_value)


def _mount_options(obj: JsonObject) -> list[FieldError]:
    annotated = MOUNT_OPTIONS in (obj["metadata"].get("annotations") or {})
    if not annotated or any(key in obj.get("spec", {}) for key in _MOUNTABLE):
        return []
    return [forbidden(f"metadata.annotations.{MOUNT_OPTIONS}", "may not specify mount options for this volume type")]


def _validate(obj: JsonObject, context: WriteContext) -> list[FieldError]:
    return _validate_volume(obj, False) + _mount_options(obj)


def _source(obj: JsonObject) -> JsonObject:
    spec = obj.get("spec", {})
    return {key: spec[key] for key in SOURCE_KEYS if key in spec}


def _source_changed(obj: JsonObject, old: JsonObject) -> list[FieldError]:
    new, before = _source(obj), _source(old)
    csi, old_csi = new.get("csi"), before.get("csi")
    if csi and old_csi and "controllerExpandSecretRef" not in old_csi:
        new = {**new, "csi": {key: value for key, value in csi.items() if key != "controllerExpandSecretRef"}}
    if same(new, before):
        return []
    shown = volume_source_difference(before, new)
    message = f"spec.persistentvolumesource is immutable after creation\n{shown}"
    return [forbidden("spec.persistentvolumesource", message)]


def _affinity_changed(obj: JsonObject, old: JsonObject) -> list[FieldError]:
    """An error if nodeAffinity changes, except for beta labels that get their GA names."""
    new, before = (volume.get("spec", {}).get("nodeAffinity") for volume in (obj, old))
    if before is None or same(new, before) or same(new, _renamed(before, new)):
        return []
    message = f"{IMMUTABLE}, except for updating from beta label to GA"
    return [invalid("nodeAffinity", verbatim("VolumeNodeAffinity", new), message)]


def _renamed(old: object, new: object) -> object:
    """`old`, with each beta label renamed that has its GA name in the same place of `new`."""
    if isinstance(old, dict) and isinstance(new, dict):
        renamed = {key: _renamed(value, new.get(key)) for key, value in old.items()}
        if "key" in old and _TO_GA.get(old["key"], "") == new.get("key", ""):  # a key without a GA name may become ""
            renamed["key"] = new.get("key", "")
        return renamed
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [_renamed(a, b) for a, b in zip(old, new, strict=True)]
    return old


def _validate_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    volume = validate_object_meta(obj["metadata"], False) + _validate_volume(obj, _has_invalid_value(old))
    found = volume + _mount_options(obj) + volume + _source_changed(obj, old)  # kube-apiserver reports it twice
    spec, before = obj.get("spec", {}), old.get("spec", {})
    found += immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    found += _affinity_changed(obj, old)
    if "volumeAttributesClassName" in before and "volumeAttributesClassName" not in spec:
        found.append(forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"))
    return found


def _validate_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> list[FieldError]:
    return [] if obj["metadata"].get("resourceVersion") else [required("resourceVersion")]


def _prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
    obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": context.now}


def _prepare_status(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
    keep_spec(obj, old, context)
    status, before = obj.setdefault("status", {}), old.get("status") or {}
    given, kept = instant(status, "lastPhaseTransitionTime"), instant(before, "lastPhaseTransitionTime")
    if status.get("phase") == before.get("phase"):
        if given is None and kept is not None:
            status["lastPhaseTransitionTime"] = before["lastPhaseTransitionTime"]
    elif given is None or given == kept:
        status["lastPhaseTransitionTime"] = context.now


def _warnings(obj: JsonObject, context: WriteContext) -> Iterator[str]:
    spec, annotations = obj.get("spec", {}), obj["metadata"].get("annotations") or {}
    for key, text in _DEPRECATED_ANNOTATIONS.items():
        if key in annotations:
            yield f"metadata.annotations[{key}]: {text}"
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
            "approach is to use dynamic provisioning."
        )
    for i, term in enumerate(_terms(obj)):
        path = f"spec.nodeAffinity.required.nodeSelectorTerms[{i}]"
        yield from expression_warnings(term.get("matchExpressions"), path)
    yield from (text for key, text in _DEPRECATED_SOURCES.items() if key in spec)


STRATEGIES = {
    "": Strategy(
        prepare_for_create=_prepare_for_create,
        prepare_for_update=keep_status,
        validate=_validate,
        validate_update=_validate_update,
        warnings_on_create=_warnings,
        warnings_on_update=on_update(_warnings),
        rechecks_metadata=False,
        reset_fields=(("status",),),
        returns_deleted=True,
    ),
    "status": Strategy(prepare_for_update=_prepare_status, validate_update=_validate_status, reset_fields=(("spec",),)),
}
