"""PersistentVolumeClaims, by StorageClass and VolumeAttributesClass ("Storage resource quota")."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.quotas.amounts import ONE, Amounts
from gateway.quotas.evaluator import Classes, EvaluatedWrite, Evaluator
from gateway.quotas.evaluators.counts import is_create_or_update
from gateway.quotas.scopes import ScopeSelector
from gateway.schema.quantity import Quantity
from gateway.validation.quantities import quantity_of

COUNT, CLAIMS, STORAGE = "count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"
OF_CLASS = ".storageclass.storage.k8s.io/"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def usage(claim: JsonObject, classes: Classes) -> Amounts:
    """What a claim uses; storage is in whole bytes. The allocatedResources count if they are more than the request."""
    used = {CLAIMS: ONE, COUNT: ONE}
    storage_class = _class_of(claim)
    if storage_class:
        used[f"{storage_class}{OF_CLASS}{CLAIMS}"] = ONE
    storage = _storage(claim)
    if storage is not None:
        used[STORAGE] = storage
        if storage_class:
            used[f"{storage_class}{OF_CLASS}{STORAGE}"] = storage
    return used


def _class_of(claim: JsonObject) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    if CLASS_ANNOTATION in annotations:
        return str(annotations[CLASS_ANNOTATION])
    return str((claim.get("spec") or {}).get("storageClassName") or "")


def _storage(claim: JsonObject) -> Quantity | None:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    if "storage" not in requests:
        return None
    wanted = quantity_of(requests["storage"]).rounded_up(0)
    allocated = (claim.get("status") or {}).get("allocatedResources") or {}
    if "storage" in allocated and (present := quantity_of(allocated["storage"])) > wanted:
        return present.rounded_up(0)
    return wanted


def attribute_classes(obj: JsonObject) -> set[str]:
    """The VolumeAttributesClasses that a claim or a volume has, or is to get."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
    names = (spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), target)
    return {name for name in names if name}


def _in_scope(selector: ScopeSelector, claim: JsonObject) -> bool:
    return selector.scope == "VolumeAttributesClass" and selector.selects(attribute_classes(claim))


def _handles(write: EvaluatedWrite) -> bool:
    if write.subresource == "status" and write.operation is Operation.UPDATE:
        assert write.old is not None
        return _allocated(write.obj) != _allocated(write.old) or (
            attribute_classes(write.obj) != attribute_classes(write.old)
        )
    return is_create_or_update(write)


def _allocated(claim: JsonObject) -> Quantity:
    return quantity_of(((claim.get("status") or {}).get("allocatedResources") or {}).get("storage"))


def _is_of_class(name: str, classes: Classes) -> bool:
    return name.endswith((OF_CLASS + CLAIMS, OF_CLASS + STORAGE))


EVALUATOR = Evaluator(
    "",
    "persistentvolumeclaims",
    frozenset({COUNT, CLAIMS, STORAGE}),
    usage,
    _handles,
    more_names=_is_of_class,
    in_scope=_in_scope,
    has_scopes=True,
)
