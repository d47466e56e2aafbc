"""Fields that a server sets in an object, and objects that every cluster makes itself: an export leaves both out."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from gateway.jsontypes import JsonObject

METADATA = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "selfLink",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
ANNOTATIONS = ("deployment.kubernetes.io/revision",)
JOB_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name")

# made again by servers and controllers, or short-lived
RESOURCES = frozenset(
    {
        "componentstatuses",
        "endpoints",
        "endpointslices.discovery.k8s.io",
        "events",
        "events.events.k8s.io",
        "ipaddresses.networking.k8s.io",
        "leases.coordination.k8s.io",
        "nodes",
        "controllerrevisions.apps",
        "csinodes.storage.k8s.io",
    }
)
LABELS = ("kubernetes.io/bootstrapping", "kube-aggregator.kubernetes.io/automanaged")
NAMES = frozenset(
    {
        ("Service", "default", "kubernetes"),
        ("ConfigMap", "kube-system", "extension-apiserver-authentication"),
        ("ConfigMap", "kube-system", "kube-apiserver-legacy-service-account-token-tracking"),
        ("ServiceCIDR", "", "kubernetes"),
        ("PriorityClass", "", "system-cluster-critical"),
        ("PriorityClass", "", "system-node-critical"),
    }
)
EVERYWHERE = frozenset({("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")})
NAMESPACES = frozenset({"kube-system", "kube-public", "kube-node-lease", "default"})
AUTO_UPDATE = "apf.kubernetes.io/autoupdate-spec"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OF_JSON = ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg")  # Secret types with JSON as data
_EMPTY_JSON = "e30="
TOKEN_SECRET = "kubernetes.io/service-account-token"


def comes_by_itself(obj: JsonObject) -> bool:
    """Whether an export leaves an object out: each cluster makes it itself, a controller owns it, or it is ending."""
    metadata, kind = obj.get("metadata") or {}, obj.get("kind")
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
    return (
        any(label in labels for label in LABELS)
        or (kind, namespace, name) in NAMES
        or (kind, name) in EVERYWHERE
        or (kind == "Namespace" and name in NAMESPACES)
        or (kind == "Secret" and obj.get("type") == TOKEN_SECRET)
        or annotations.get(AUTO_UPDATE) == "true"
        or bool(metadata.get("deletionTimestamp"))
        or any(owner.get("controller") for owner in metadata.get("ownerReferences") or ())
    )


def blanked(obj: JsonObject) -> JsonObject:
    """A Secret with its keys, but empty values; any other object as it is. The argument is not changed."""
    if (obj.get("apiVersion"), obj.get("kind")) != ("v1", "Secret"):
        return obj
    metadata = {**(obj.get("metadata") or {})}
    annotations = {**(metadata.get("annotations") or {})}
    if annotations.pop(APPLIED, None) is not None:  # kubectl's copy of the whole Secret
        metadata["annotations"] = annotations
    blank = _EMPTY_JSON if obj.get("type") in _OF_JSON else ""
    data = {"data": dict.fromkeys(obj["data"], blank)} if isinstance(obj.get("data"), dict) else {}
    return {**obj, "metadata": metadata, **data}


def stripped(obj: JsonObject, *, status: bool = False) -> JsonObject:
    """A copy of the object without the fields that its server set; with its status only if `status`."""
    found = deepcopy(obj)
    metadata = found.get("metadata") or {}
    for name in METADATA:
        metadata.pop(name, None)
    annotations = metadata.get("annotations") or {}
    for name in ANNOTATIONS:
        annotations.pop(name, None)
    if not annotations:
        metadata.pop("annotations", None)
    if not status:
        found.pop("status", None)
    if own := _OF_KIND.get((str(found.get("apiVersion")).partition("/")[0], str(found.get("kind")))):
        own(found)
    return found


def _of_service(service: JsonObject) -> None:
    """Removes cluster IPs, which come from the cluster's range; the user's "None" stays."""
    spec = service.get("spec") or {}
    if spec.get("clusterIP") not in (None, "None"):
        spec.pop("clusterIP", None)
        spec.pop("clusterIPs", None)
    spec.pop("healthCheckNodePort", None)


def _of_job(job: JsonObject) -> None:
    """Removes the selector and labels that the server made: they have the Job's UID."""
    spec = job.get("spec") or {}
    if spec.get("manualSelector"):
        return
    spec.pop("selector", None)
    template: Any = (spec.get("template") or {}).get("metadata") or {}
    for labels in (template.get("labels"), job["metadata"].get("labels")):
        for name in JOB_LABELS if isinstance(labels, dict) else ():
            labels.pop(name, None)


def _of_namespace(namespace: JsonObject) -> None:
    namespace.pop("spec", None)


_OF_KIND = {
    ("v1", "Service"): _of_service,
    ("batch", "Job"): _of_job,
    ("v1", "Namespace"): _of_namespace,
}
