"""StorageObjectInUseProtection: volumes, claims and their classes get finalizers that keep them while in use."""

from __future__ import annotations

from gateway.admission.chain import Operation, Plugin, on
from gateway.admission.lookup import Lookup
from gateway.jsontypes import JsonObject
from gateway.kinds.strategy import WriteContext

FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses": "kubernetes.io/vac-protection",
}


async def _admit(obj: JsonObject | None, old: JsonObject | None, context: WriteContext, lookup: Lookup) -> None:
    assert obj is not None
    finalizer = FINALIZERS[context.resource.resource]
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


PLUGIN = Plugin(
    "StorageObjectInUseProtection",
    on(
        "/persistentvolumes",
        "/persistentvolumeclaims",
        "storage.k8s.io/volumeattributesclasses",
        operations=(Operation.CREATE,),
    ),
    admit=_admit,
)
