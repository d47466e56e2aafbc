"""DefaultStorageClass: a claim that names no class gets the default one (page "Storage Classes")."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.plugins.default_class import newest_default
from gateway.admission.record import Admission
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import GroupVersionResource
from gateway.kinds.objects import Objects

STORAGE_CLASSES = GroupVersionResource("storage.k8s.io", "v1", "storageclasses")
CLAIM_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


async def _admit(admission: Admission, objects: Objects) -> None:
    obj = admission.obj
    assert obj is not None
    spec = obj.setdefault("spec", {})
    annotations = obj["metadata"].get("annotations") or {}
    if spec.get("storageClassName") is not None or CLAIM_ANNOTATION in annotations:
        return
    name = newest_default(objects.stored(STORAGE_CLASSES), *_DEFAULT)
    if name:
        spec["storageClassName"] = name


PLUGIN = Plugin(
    "DefaultStorageClass", on("/persistentvolumeclaims", operations=(Operation.CREATE,)), looking_up(admit=_admit)
)
