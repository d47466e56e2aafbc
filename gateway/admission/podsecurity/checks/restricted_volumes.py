"""Restricted: volumes are only of kinds that use neither the host nor a server that the pod's author names."""

from __future__ import annotations

from gateway.admission.podsecurity.check import Check, PodUnderCheck, Revision, Violation, plural, quoted
from gateway.admission.podsecurity.levels import Level
from gateway.jsontypes import JsonObject

_ALLOWED = frozenset(
    {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
)
_KNOWN = (  # messages name the first of these that a volume has
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
)


def _violation(pod: PodUnderCheck) -> Violation | None:
    bad = [volume for volume in pod.spec.get("volumes") or () if _ALLOWED.isdisjoint(volume)]
    if not bad:
        return None
    names, types = [volume.get("name", "") for volume in bad], {_type(volume) for volume in bad}
    verb = "uses" if len(bad) == 1 else "use"
    what = f"{plural('restricted volume type', types)} {quoted(sorted(types))}"
    return Violation("restricted volume types", f"{plural('volume', names)} {quoted(names)} {verb} {what}")


def _type(volume: JsonObject) -> str:
    return next((type_ for type_ in _KNOWN if type_ in volume), "unknown")


CHECK = Check("restrictedVolumes", Level.RESTRICTED, (Revision(0, _violation, ("hostPathVolumes",)),))
