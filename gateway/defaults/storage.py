"""Defaults of the storage group.

Source: Kubernetes API reference, StorageClass, CSIDriverSpec, VolumeAttachmentSource.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.defaults.volumes import VOLUME_SOURCES

_DRIVER = compile_table(
    {
        "spec+.attachRequired?": True,
        "spec+.podInfoOnMount?": False,
        "spec+.storageCapacity?": False,
        "spec+.fsGroupPolicy?": "ReadWriteOnceWithFSType",
        "spec+.volumeLifecycleModes": ["Persistent"],
        "spec+.requiresRepublish?": False,
        "spec+.seLinuxMount?": False,
    }
)

DEFAULTERS: Defaulters = {
    ("storage.k8s.io/v1", "StorageClass"): compile_table(
        {"reclaimPolicy?": "Delete", "volumeBindingMode?": "Immediate"},
    ),
    ("storage.k8s.io/v1", "CSIDriver"): _DRIVER,
    ("storage.k8s.io/v1", "VolumeAttachment"): compile_table({"spec.source.inlineVolumeSpec": VOLUME_SOURCES}),
}

GATED: Defaulters = {
    ("storage.k8s.io/v1", "CSIDriver"): compile_table({"spec+.preventPodSchedulingIfMissing?": False}, _DRIVER),
}
