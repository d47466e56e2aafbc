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


async def _admit(admission: Admission, objects: Objects) -> Admission | None:
    obj = admission.obj
    assert obj is not None
    spec = obj.get("spec") or {}
    annotations = obj["metadata"].get("annotations") or {}
    if spec.get("storageClassName") is not None or CLAIM_ANNOTATION in annotations:
        return None
    name = newest_default(objects.stored(STORAGE_CLASSES), *_DEFAULT)
    return admission.with_spec(storageClassName=name) if name else None


PLUGIN = Plugin(
    "DefaultStorageClass", on("/persistentvolumeclaims", operations=(Operation.CREATE,)), looking_up(admit=_admit)
)
