"""StorageObjectInUseProtection: volumes, claims and their classes get finalizers that keep them while in use."""

from __future__ import annotations

from gateway.admission.chain import Plugin, looking_up, on
from gateway.admission.record import Admission
from gateway.kinds.attributes import Operation
from gateway.kinds.objects import Objects

FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses": "kubernetes.io/vac-protection",
}


async def _admit(admission: Admission, objects: Objects) -> Admission | None:
    obj = admission.obj
    assert obj is not None
    finalizer = FINALIZERS[admission.resource.resource]
    finalizers = obj["metadata"].get("finalizers") or []
    if finalizer in finalizers:
        return None
    return admission.changed({**obj, "metadata": {**obj["metadata"], "finalizers": [*finalizers, finalizer]}})


PLUGIN = Plugin(
    "StorageObjectInUseProtection",
    on(
        "/persistentvolumes",
        "/persistentvolumeclaims",
        "storage.k8s.io/volumeattributesclasses",
        operations=(Operation.CREATE,),
    ),
    looking_up(admit=_admit),
)
