"""Versions of built-in kinds that Go's scheme decodes although they are not served; a body may name one."""

from __future__ import annotations

_RBAC = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})
_FLOW = frozenset({"FlowSchema", "PriorityLevelConfiguration"})
_CLAIMS = frozenset({"DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"})
_POLICIES = frozenset(
    {
        *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
        *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    }
)
_UNSERVED: dict[str, frozenset[str]] = {  # the register.go of each version in k8s.io/api
    "admission.k8s.io/v1": frozenset({"AdmissionReview"}),
    "admission.k8s.io/v1beta1": frozenset({"AdmissionReview"}),
    "admissionregistration.k8s.io/v1alpha1": _POLICIES,
    "admissionregistration.k8s.io/v1beta1": _POLICIES
    | {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"},
    "apps/v1beta1": frozenset({"Deployment", "DeploymentRollback", "Scale", "StatefulSet", "ControllerRevision"}),
    "apps/v1beta2": frozenset(
        {"Deployment", "Scale", "StatefulSet", "DaemonSet", "ReplicaSet", "ControllerRevision"},
    ),
    "authentication.k8s.io/v1alpha1": frozenset({"SelfSubjectReview"}),
    "authentication.k8s.io/v1beta1": frozenset({"SelfSubjectReview", "TokenReview"}),
    "authorization.k8s.io/v1beta1": frozenset(
        {"SelfSubjectRulesReview", "SelfSubjectAccessReview", "SubjectAccessReview", "LocalSubjectAccessReview"}
    ),
    "batch/v1beta1": frozenset({"CronJob"}),
    "certificates.k8s.io/v1alpha1": frozenset({"ClusterTrustBundle"}),
    "certificates.k8s.io/v1beta1": frozenset(
        {"CertificateSigningRequest", "ClusterTrustBundle", "PodCertificateRequest"}
    ),
    "coordination.k8s.io/v1alpha2": frozenset({"LeaseCandidate"}),
    "coordination.k8s.io/v1beta1": frozenset({"Lease", "LeaseCandidate"}),
    "discovery.k8s.io/v1beta1": frozenset({"EndpointSlice"}),
    "events.k8s.io/v1beta1": frozenset({"Event"}),
    "extensions/v1beta1": frozenset(
        {"Deployment", "DeploymentRollback", "Scale", "DaemonSet", "Ingress", "ReplicaSet", "NetworkPolicy"}
    ),
    "flowcontrol.apiserver.k8s.io/v1beta1": _FLOW,
    "flowcontrol.apiserver.k8s.io/v1beta2": _FLOW,
    "flowcontrol.apiserver.k8s.io/v1beta3": _FLOW,
    "imagepolicy.k8s.io/v1alpha1": frozenset({"ImageReview"}),
    "internal.apiserver.k8s.io/v1alpha1": frozenset({"StorageVersion"}),
    "networking.k8s.io/v1beta1": frozenset({"Ingress", "IngressClass", "IPAddress", "ServiceCIDR"}),
    "node.k8s.io/v1alpha1": frozenset({"RuntimeClass"}),
    "node.k8s.io/v1beta1": frozenset({"RuntimeClass"}),
    "policy/v1beta1": frozenset({"PodDisruptionBudget", "Eviction"}),
    "rbac.authorization.k8s.io/v1alpha1": _RBAC,
    "rbac.authorization.k8s.io/v1beta1": _RBAC,
    "resource.k8s.io/v1alpha3": frozenset({"DeviceTaintRule", "ResourcePoolStatusRequest"}),
    "resource.k8s.io/v1beta1": _CLAIMS,
    "resource.k8s.io/v1beta2": _CLAIMS | {"DeviceTaintRule"},
    "scheduling.k8s.io/v1alpha2": frozenset({"Workload", "PodGroup"}),
    "scheduling.k8s.io/v1beta1": frozenset({"PriorityClass"}),
    "storage.k8s.io/v1alpha1": frozenset({"VolumeAttachment", "CSIStorageCapacity", "VolumeAttributesClass"}),
    "storage.k8s.io/v1beta1": frozenset(
        {
            *("StorageClass", "VolumeAttachment", "CSIDriver", "CSINode"),
            *("CSIStorageCapacity", "VolumeAttributesClass"),
        }
    ),
    "storagemigration.k8s.io/v1beta1": frozenset({"StorageVersionMigration"}),
}
# versions that an endpoint accepts in addition to its own (a GroupVersionAcceptor in Go)
_TAKEN: dict[tuple[str, str], str] = {("policy/v1", "Eviction"): "policy/v1beta1"}


def reads_unserved(kind: str, version: str) -> bool:
    """Whether Go's scheme decodes a kind, or its list, in a version that is not served."""
    kinds = _UNSERVED.get(version)
    return kinds is not None and kind.removesuffix("List") in kinds


def taken_beside(api_version: str, kind: str) -> str:
    """The other apiVersion that an endpoint of a kind accepts in bodies; "" if there is none."""
    return _TAKEN.get((api_version, kind), "")
