"""The order in which an import makes kinds: first those that others need, webhooks and policies last."""

from __future__ import annotations

FIRST = (
    ("", "Namespace"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "StorageClass"),
    ("networking.k8s.io", "IngressClass"),
    ("node.k8s.io", "RuntimeClass"),
    ("", "ServiceAccount"),
    ("", "Secret"),
    ("", "ConfigMap"),
    ("", "ResourceQuota"),
    ("", "LimitRange"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("", "Service"),
)
LAST = (
    ("apiregistration.k8s.io", "APIService"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
)

_RANKS = {
    **{kind: rank for rank, kind in enumerate(FIRST)},
    **{kind: len(FIRST) + 2 + rank for rank, kind in enumerate(LAST)},
}


def rank(group: str, kind: str, *, owned: bool = False) -> int:
    """The rank of a kind; lower ranks come first. Objects with owners (`owned`) come after possible owners."""
    return _RANKS.get((group, kind), len(FIRST) + int(owned))
