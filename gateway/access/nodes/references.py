"""The references of pods and persistent volumes: the objects that a kubelet must read to run a pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gateway.jsontypes import JsonObject

MIRROR = "kubernetes.io/config.mirror"

_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
# volume sources of pods that refer to a secret: the member, and the path to the secret's name in it
_POD_SECRETS = {
    "azureFile": ("secretName",),
    "cephfs": ("secretRef", "name"),
    "cinder": ("secretRef", "name"),
    "flexVolume": ("secretRef", "name"),
    "rbd": ("secretRef", "name"),
    "secret": ("secretName",),
    "scaleIO": ("secretRef", "name"),
    "iscsi": ("secretRef", "name"),
    "storageos": ("secretRef", "name"),
    "csi": ("nodePublishSecretRef", "name"),
}
# persistent volume sources: the secret's namespace is the claim's, unless secretRef names another
_OF_CLAIM = ("cephfs", "flexVolume", "rbd", "scaleIO", "iscsi")
_OF_THEIR_OWN = ("cinder", "storageos")
_CSI = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")  # those that kubelets read


def secret_names(pod: JsonObject) -> Iterator[str]:
    """The names of the secrets to which a pod refers; a name may come more than once."""
    spec = pod.get("spec") or {}
    yield from _present(each.get("name") for each in spec.get("imagePullSecrets") or ())
    yield from _of_environments(spec, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from _present([_at(source, "secret", "name")])
        for member, path in _POD_SECRETS.items():
            if volume.get(member):
                yield from _present([_at(volume[member], *path)])


def config_map_names(pod: JsonObject) -> Iterator[str]:
    """The names of the ConfigMaps to which a pod refers; a name may come more than once."""
    spec = pod.get("spec") or {}
    yield from _of_environments(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from _present([_at(source, "configMap", "name")])
        yield from _present([_at(volume, "configMap", "name")])


def claim_names(pod: JsonObject) -> Iterator[str]:
    """The names of a pod's PersistentVolumeClaims; those of ephemeral volumes are POD-VOLUME."""
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield from _present([volume["persistentVolumeClaim"].get("claimName")])
        elif volume.get("ephemeral"):
            yield f"{pod['metadata']['name']}-{volume.get('name', '')}"


def resource_claim_names(pod: JsonObject) -> Iterator[str]:
    """The names of a pod's ResourceClaims; of claims made from templates, those that the status names already."""
    status = pod.get("status") or {}
    made = {each.get("name"): each.get("resourceClaimName") for each in status.get("resourceClaimStatuses") or ()}
    for claim in (pod.get("spec") or {}).get("resourceClaims") or ():
        yield from _present([claim.get("resourceClaimName") or made.get(claim.get("name"))])
    yield from _present([_at(status, "extendedResourceClaimStatus", "resourceClaimName")])


def volume_secrets(volume: JsonObject) -> Iterator[tuple[str, str]]:
    """Namespace and name of the secrets that a kubelet needs for a persistent volume."""
    spec = volume.get("spec") or {}
    claims = (spec.get("claimRef") or {}).get("namespace", "")
    if azure := spec.get("azureFile"):
        yield from _named(azure.get("secretNamespace") or claims, azure.get("secretName"))
    for member in _OF_CLAIM:
        if ref := (spec.get(member) or {}).get("secretRef"):
            yield from _named(ref.get("namespace") or claims, ref.get("name"))
    for member in _OF_THEIR_OWN:
        if ref := (spec.get(member) or {}).get("secretRef"):
            yield from _named(ref.get("namespace", ""), ref.get("name"))
    for member in _CSI:
        if ref := (spec.get("csi") or {}).get(member):
            yield from _named(ref.get("namespace", ""), ref.get("name"))


def _of_environments(spec: JsonObject, whole: str, one: str) -> Iterator[str]:
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            for each in container.get("envFrom") or ():
                yield from _present([_at(each, whole, "name")])
            for each in container.get("env") or ():
                yield from _present([_at(each, "valueFrom", one, "name")])


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = (value or {}).get(name)
    return value


def _present(names: Any) -> Iterator[str]:
    return (name for name in names if name)


def _named(namespace: str, name: str | None) -> Iterator[tuple[str, str]]:
    if name:
        yield namespace, name
