"""PersistentVolumeClaimResize: only bound claims of a class that allows it grow (page "Persistent Volumes")."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.plugins.default_storage_class import CLAIM_ANNOTATION, STORAGE_CLASSES
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects
from gateway.schema.quantity import parse_quantity


async def _validate(admission: Admission, objects: Objects) -> None:
    obj, old = admission.obj, admission.old
    assert obj is not None
    if old is None or parse_quantity(_storage(obj)) <= parse_quantity(_storage(old)):
        return
    if (old.get("status") or {}).get("phase") != "Bound":
        raise refused(admission, obj, "Only bound persistent volume claims can be expanded")
    name = _class(obj)
    found = await objects.get(STORAGE_CLASSES, "", name) if name and name == _class(old) else None
    if found is None or not found.get("allowVolumeExpansion"):
        raise refused(
            admission,
            obj,
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
            "support resize",
        )


def _storage(claim: JsonObject) -> str:
    resources = (claim.get("spec") or {}).get("resources") or {}
    return str((resources.get("requests") or {}).get("storage") or "0")


def _class(claim: JsonObject) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    if CLAIM_ANNOTATION in annotations:
        return str(annotations[CLAIM_ANNOTATION])
    return (claim.get("spec") or {}).get("storageClassName") or ""


PLUGIN = Plugin(
    "PersistentVolumeClaimResize",
    on("/persistentvolumeclaims", operations=(Operation.UPDATE,)),
    looking_up(validate=_validate),
)
