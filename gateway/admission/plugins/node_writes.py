"""The writes that kubelets may make: of their own Node and the pods on it, without gaining further rights."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Iterator, Mapping
from copy import deepcopy

from gateway.access.nodes.authorizer import LEASES
from gateway.access.nodes.identity import NODE_PREFIX, node_of
from gateway.access.nodes.references import MIRROR, config_map_names, secret_names
from gateway.admission.chain import PluginParts
from gateway.admission.plugins import node_certificates, node_tokens
from gateway.admission.record import Admission
from gateway.admission.refusal import refused
from gateway.http.status import StatusError, not_found
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Operation
from gateway.kinds.identity import core
from gateway.kinds.objects import Objects
from gateway.validation.field import go_quote

_RESTRICTED = "node-restriction.kubernetes.io"
_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    }
)
_LABEL_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_KUBELET_SIGNERS = frozenset({"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"})
# volumes that a mirror pod may have: they need no API objects
_FREE_VOLUMES = frozenset(
    {
        *("awsElasticBlockStore", "azureDisk", "cephfs", "cinder", "downwardAPI", "emptyDir", "fc", "flexVolume"),
        *("flocker", "gcePersistentDisk", "gitRepo", "hostPath", "image", "iscsi", "nfs", "photonPersistentDisk"),
        *("portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume"),
    }
)
_BOUND_VOLUMES = {
    "configMap": "configmaps (via configmap volumes)",
    "secret": "secrets (via secret volumes)",
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
    "azureFile": "secrets (via azureFile volumes)",
}
_BOUND_SOURCES = {
    "configMap": "configmaps (via projected volumes)",
    "secret": "secrets (via projected volumes)",
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


class NodeWrites:
    """Checks the writes of nodes."""

    def __init__(self, parts: PluginParts) -> None:
        self._objects: Objects = parts.objects
        self._enabled = parts.release.gates.enabled
        self._tokens = node_tokens.Audiences(parts.objects, parts.authorizer, self._enabled)
        self._certificates = node_certificates.NodeCertificates(parts.objects, parts.authorizer)

    async def admit(self, admission: Admission) -> None:
        """Raises StatusError 403 for a write that the node may not make, 404 if an object that it names is missing."""
        node = node_of(admission.user)
        if node is None:
            return
        if not node:
            raise _no(admission, f"could not determine node from user {go_quote(admission.user.name)}")
        resource = admission.resource
        await _REVIEWS[f"{resource.group}/{resource.resource}"](self, node, admission)

    async def _pod(self, node: str, admission: Admission) -> None:
        shown, operation = go_quote(node), admission.operation
        match admission.subresource, operation:
            case ("", Operation.CREATE):
                await self._mirror(node, admission)
            case ("", Operation.DELETE):
                if await self._node_of_pod(admission) != node:
                    raise _no(admission, f"node {shown} can only delete pods with spec.nodeName set to itself")
            case ("", _):
                only = f"node {shown} can only create and delete mirror pods"
                raise _no(admission, f"unexpected operation {go_quote(operation.value)}, {only}")
            case ("status", Operation.UPDATE):
                _pod_status(node, admission)
                if self._enabled("NodeWritesNarrowed"):
                    _allocatable_status(node, admission)
            case ("eviction", Operation.CREATE):
                if await self._node_of_pod(admission) != node:
                    raise _no(admission, f"node {node} can only evict pods with spec.nodeName set to itself")
            case ("status" | "eviction", _):
                raise _no(admission, f"unexpected operation {go_quote(operation.value)}")
            case _:
                which = go_quote(admission.subresource)
                raise _no(admission, f"unexpected pod subresource {which}, only 'status' and 'eviction' are allowed")

    async def _node(self, node: str, admission: Admission) -> None:
        obj, old = admission.obj or {}, admission.old or {}
        shown = go_quote(node)
        name = admission.name or (obj.get("metadata") or {}).get("name", "")
        if name != node:
            raise _no(admission, f"node {shown} is not allowed to modify node {go_quote(name)}")
        if admission.operation is Operation.DELETE:
            return
        spec, before = obj.get("spec") or {}, old.get("spec") or {}
        changed = _changed(obj["metadata"].get("labels") or {}, (old.get("metadata") or {}).get("labels") or {})
        labels = ", ".join(sorted(filter(_is_forbidden_label, changed)))
        if admission.operation is Operation.CREATE:
            if spec.get("configSource") is not None:
                raise _no(admission, f"node {shown} is not allowed to create pods with a non-nil configSource")
            if labels:
                raise _no(admission, f"node {shown} is not allowed to set the following labels: {labels}")
            return
        if spec.get("configSource") is not None and spec["configSource"] != before.get("configSource"):
            raise _no(admission, f"node {shown} is not allowed to update configSource to a new non-nil configSource")
        if (spec.get("taints") or []) != (before.get("taints") or []):
            raise _no(admission, f"node {shown} is not allowed to modify taints")
        if (obj["metadata"].get("ownerReferences") or []) != (old["metadata"].get("ownerReferences") or []):
            raise _no(admission, f"node {shown} is not allowed to modify ownerReferences")
        if labels:
            raise _no(admission, f"is not allowed to modify labels: {labels}")

    async def _claim(self, node: str, admission: Admission) -> None:
        if admission.subresource != "status":
            raise _no(admission, "may only update PVC status")
        if admission.operation is not Operation.UPDATE:
            raise _no(admission, f"unexpected operation {go_quote(admission.operation.value)}")
        if _without_capacity(admission.obj) != _without_capacity(admission.old):
            which = "status.quantity and status.conditions"
            raise _no(admission, f"node {go_quote(node)} is not allowed to update fields other than {which}")

    async def _account(self, node: str, admission: Admission) -> None:
        if admission.operation is Operation.CREATE and admission.subresource == "token":
            await self._tokens.check(node, admission)

    async def _lease(self, node: str, admission: Admission) -> None:
        if admission.namespace != LEASES:
            raise _no(admission, f"can only access leases in the {go_quote(LEASES)} system namespace")
        if _name(admission) != node:
            raise _no(admission, "can only access node lease with the same name as the requesting node")

    async def _csi_node(self, node: str, admission: Admission) -> None:
        if _name(admission) != node:
            raise _no(admission, "can only access CSINode with the same name as the requesting node")
        if admission.subresource == "status" and not self._enabled("CSIVolumeHealth"):
            raise _no(admission, "CSIVolumeHealth feature gate is disabled")

    async def _slice(self, node: str, admission: Admission) -> None:
        looked_at = {Operation.CREATE: admission.obj, Operation.DELETE: admission.old}.get(admission.operation)
        if looked_at is not None and (looked_at.get("spec") or {}).get("nodeName") != node:
            what = admission.operation.value.lower()
            raise _no(admission, f"can only {what} ResourceSlice with the same NodeName as the requesting node")

    async def _signing_request(self, node: str, admission: Admission) -> None:
        spec = (admission.obj or {}).get("spec") or {}
        if admission.operation is not Operation.CREATE or spec.get("signerName") not in _KUBELET_SIGNERS:
            return
        try:
            name = _common_name(base64.b64decode(spec.get("request") or ""))
        except ValueError as error:
            raise _no(admission, f"unable to parse csr: {error}") from None
        if name != f"{NODE_PREFIX}{node}":
            raise _no(admission, f"can only create a node CSR with CN={NODE_PREFIX}{node}")

    async def _certificate(self, node: str, admission: Admission) -> None:
        await self._certificates.check(node, admission)

    async def _mirror(self, node: str, admission: Admission) -> None:
        pod, shown = admission.obj or {}, go_quote(node)
        meta, spec = pod["metadata"], pod.get("spec") or {}
        if MIRROR not in (meta.get("annotations") or {}):
            only = f"node {shown} can only create mirror pods"
            raise _no(admission, f"pod does not have {go_quote(MIRROR)} annotation, {only}")
        if spec.get("nodeName") != node:
            raise _no(admission, f"node {shown} can only create pods with spec.nodeName set to itself")
        owners = meta.get("ownerReferences") or []
        if len(owners) > 1:
            raise _no(admission, f"node {shown} can only create pods with a single owner reference set to itself")
        if not owners or (owners[0].get("apiVersion"), owners[0].get("kind"), owners[0].get("name")) != (
            "v1",
            "Node",
            node,
        ):
            raise _no(admission, f"node {shown} can only create pods with an owner reference set to itself")
        if not owners[0].get("controller"):
            raise _no(admission, f"node {shown} can only create pods with a controller owner reference set to itself")
        if owners[0].get("blockOwnerDeletion"):
            raise _no(admission, f"node {shown} must not set blockOwnerDeletion on an owner reference")
        found = await self._objects.get(core("nodes"), "", node)
        if found is None:
            raise not_found("", "node", node)
        uid, actual = owners[0].get("uid", ""), found["metadata"].get("uid", "")
        if uid != actual:
            raise _no(admission, f"node {node} UID mismatch: expected {uid} got {actual}")
        if reference := _api_reference(pod):
            raise _no(admission, f"node {shown} can not create pods that reference {reference}")

    async def _node_of_pod(self, admission: Admission) -> str:
        name = _name(admission)
        if not name:
            raise _no(admission, "could not determine pod from request data")
        pod = await self._objects.get(core("pods"), admission.namespace, name)
        if pod is None:
            raise not_found("", "pod", name)
        return str((pod.get("spec") or {}).get("nodeName", ""))


_REVIEWS: Mapping[str, Callable[[NodeWrites, str, Admission], Awaitable[None]]] = {
    "/pods": NodeWrites._pod,
    "/nodes": NodeWrites._node,
    "/persistentvolumeclaims": NodeWrites._claim,
    "/serviceaccounts": NodeWrites._account,
    "coordination.k8s.io/leases": NodeWrites._lease,
    "storage.k8s.io/csinodes": NodeWrites._csi_node,
    "resource.k8s.io/resourceslices": NodeWrites._slice,
    "certificates.k8s.io/certificatesigningrequests": NodeWrites._signing_request,
    "certificates.k8s.io/podcertificaterequests": NodeWrites._certificate,
}


def _no(admission: Admission, reason: str) -> StatusError:
    return refused(admission, admission.obj, reason)


def _name(admission: Admission) -> str:
    return admission.name or str(((admission.obj or {}).get("metadata") or {}).get("name", ""))


def _pod_status(node: str, admission: Admission) -> None:
    obj, old, shown = admission.obj or {}, admission.old or {}, go_quote(node)
    if (old.get("spec") or {}).get("nodeName") != node:
        raise _no(admission, f"node {shown} can only update pod status for pods with spec.nodeName set to itself")
    if (obj["metadata"].get("labels") or {}) != (old["metadata"].get("labels") or {}):
        raise _no(admission, f"node {shown} cannot update labels through pod status")
    status, before = obj.get("status") or {}, old.get("status") or {}
    if (status.get("resourceClaimStatuses") or []) != (before.get("resourceClaimStatuses") or []):
        raise _no(admission, f"node {shown} cannot update resource claim statues")
    if status.get("extendedResourceClaimStatus") != before.get("extendedResourceClaimStatus"):
        raise _no(admission, f"node {shown} cannot update extended resource claim status")


def _allocatable_status(node: str, admission: Admission) -> None:
    before, after = (
        ((each or {}).get("status") or {}).get("nodeAllocatableResourceClaimStatuses") or []
        for each in (admission.old, admission.obj)
    )
    if before != after:
        raise _no(admission, f"node {go_quote(node)} cannot update node allocatable resource claim statuses")


def _changed(labels: Mapping[str, str], before: Mapping[str, str]) -> set[str]:
    return {key for key, _ in labels.items() ^ before.items()}


def _is_forbidden_label(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    if _is_below(domain, _RESTRICTED):
        return True
    if not (_is_below(domain, "kubernetes.io") or _is_below(domain, "k8s.io")):
        return False
    return key not in _LABELS and not any(_is_below(domain, each) for each in _LABEL_DOMAINS)


def _is_below(domain: str, other: str) -> bool:
    return domain == other or domain.endswith(f".{other}")


def _without_capacity(claim: JsonObject | None) -> JsonObject:
    found = deepcopy(claim or {})
    for name in ("resourceVersion", "managedFields"):
        found.get("metadata", {}).pop(name, None)
    status = found.get("status") or {}
    for name in ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"):
        status.pop(name, None)
    return {**found, "status": status}


def _api_reference(pod: JsonObject) -> str:
    """The API resource that a pod refers to, as messages name it; "" if there is none."""
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if any(True for _ in secret_names(pod)):
        return "secrets"
    if any(True for _ in config_map_names(pod)):
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    return next((found for volume in spec.get("volumes") or () for found in _needs(volume)), "")


def _needs(volume: JsonObject) -> Iterator[str]:
    if _FREE_VOLUMES & volume.keys():
        return
    yield from (text for member, text in _BOUND_VOLUMES.items() if volume.get(member) is not None)
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield from (text for member, text in _BOUND_SOURCES.items() if source.get(member) is not None)


def _common_name(pem: bytes) -> str:
    from cryptography.x509.oid import NameOID

    from gateway.certificate_reader import request_of_pem, subject_of

    names = subject_of(request_of_pem(pem)).get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""
