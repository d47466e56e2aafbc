"""The module with the defaults of each kind; it is imported when one of its kinds is first needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from gateway.jsontypes import JsonObject

Defaulter = Callable[[JsonObject], None]
Defaulters = dict[tuple[str, str], Defaulter]

GATED: dict[tuple[str, str], tuple[str, str]] = {
    ("v1", "Pod"): ("PodLevelResourcesFixDefaulting", "pod"),
    ("apps/v1", "StatefulSet"): ("MaxUnavailableStatefulSet", "apps"),
    ("storage.k8s.io/v1", "CSIDriver"): ("VolumeLimitScaling", "storage"),
}
"""Kinds with other defaults while a gate is on: the gate, and the module whose `GATED` has all their defaults then."""

MODULES: dict[str, dict[str, str]] = {
    "v1": {
        "Pod": "pod",
        "Service": "service",
        "Secret": "core",
        "Namespace": "core",
        "Node": "core",
        "LimitRange": "core",
        "ResourceQuota": "core",
        "Endpoints": "core",
        "PersistentVolume": "volumes",
        "PersistentVolumeClaim": "volumes",
        "PodTemplate": "templates",
        "ReplicationController": "templates",
    },
    "apps/v1": {"Deployment": "apps", "ReplicaSet": "apps", "StatefulSet": "apps", "DaemonSet": "apps"},
    "batch/v1": {"Job": "batch", "CronJob": "batch"},
    "autoscaling/v1": {"HorizontalPodAutoscaler": "autoscaling"},
    "autoscaling/v2": {"HorizontalPodAutoscaler": "autoscaling"},
    "networking.k8s.io/v1": {"NetworkPolicy": "networking", "IngressClass": "networking"},
    "discovery.k8s.io/v1": {"EndpointSlice": "networking"},
    "policy/v1": {"PodDisruptionBudget": "policy"},
    "rbac.authorization.k8s.io/v1": {"RoleBinding": "access", "ClusterRoleBinding": "access"},
    "authentication.k8s.io/v1": {"TokenRequest": "access"},
    "certificates.k8s.io/v1": {"PodCertificateRequest": "access"},
    "storage.k8s.io/v1": {"StorageClass": "storage", "CSIDriver": "storage", "VolumeAttachment": "storage"},
    "scheduling.k8s.io/v1": {"PriorityClass": "scheduling"},
    "admissionregistration.k8s.io/v1": {
        "ValidatingWebhookConfiguration": "admissionregistration",
        "MutatingWebhookConfiguration": "admissionregistration",
        "ValidatingAdmissionPolicy": "admissionregistration",
        "MutatingAdmissionPolicy": "admissionregistration",
        "ValidatingAdmissionPolicyBinding": "admissionregistration",
        "MutatingAdmissionPolicyBinding": "admissionregistration",
    },
    "flowcontrol.apiserver.k8s.io/v1": {"FlowSchema": "flowcontrol", "PriorityLevelConfiguration": "flowcontrol"},
    "resource.k8s.io/v1": {
        "ResourceClaim": "devices",
        "ResourceClaimTemplate": "devices",
        "ResourceSlice": "devices",
        "DeviceTaintRule": "devices",
    },
    "apiextensions.k8s.io/v1": {"CustomResourceDefinition": "extension"},
    "apiregistration.k8s.io/v1": {"APIService": "extension"},
}

_loaded: dict[tuple[str, str], Defaulter] = {}


def defaulter_for(api_version: str, kind: str) -> Defaulter | None:
    """The function that sets the defaults of a kind in a served version; None if it has no defaults."""
    key = (api_version, kind)
    found = _loaded.get(key)
    if found is None:
        name = MODULES.get(api_version, {}).get(kind)
        if name is not None:
            found = _loaded[key] = import_module(f"gateway.defaults.{name}").DEFAULTERS[key]
    return found


def gated_defaulter_for(api_version: str, kind: str) -> Defaulter:
    """The function for a kind of `GATED` whose gate is on. Raises KeyError for another kind."""
    _, name = GATED[api_version, kind]
    found: Defaulter = import_module(f"gateway.defaults.{name}").GATED[api_version, kind]
    return found
