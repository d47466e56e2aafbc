"""Defaults of persistent volumes and claims (Kubernetes API reference, each kind's page)."""

from __future__ import annotations

from gateway.defaults.pod_spec import AZURE_DISK, CLAIM_SPEC, HOST_PATH, ISCSI, RBD, SCALE_IO
from gateway.defaults.quantities import round_up
from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table

VOLUME_SOURCES = compile_table(
    {
        "capacity": round_up,
        "hostPath": compile_table(HOST_PATH),
        "rbd": compile_table(RBD),
        "iscsi": compile_table(ISCSI),
        "azureDisk": compile_table(AZURE_DISK),
        "scaleIO": compile_table(SCALE_IO),
    }
)

PERSISTENT_VOLUME_CLAIM = compile_table(
    {
        "spec+": CLAIM_SPEC,
        "status+.phase": "Pending",
        "status+.capacity": round_up,
        "status+.allocatedResources": round_up,
    }
)


DEFAULTERS: Defaulters = {
    ("v1", "PersistentVolume"): compile_table(
        {
            "status+.phase": "Pending",
            "spec+.persistentVolumeReclaimPolicy": "Retain",
            "spec+.volumeMode?": "Filesystem",
            "spec+": VOLUME_SOURCES,
        }
    ),
    ("v1", "PersistentVolumeClaim"): PERSISTENT_VOLUME_CLAIM,
}
