"""Alpha and beta versions that have the fields, defaults and rules of another version of the kind: v1, or the highest
one where there is no v1.

kube-apiserver does not serve them by default; --runtime-config switches them on. It may store them: it stores the
highest version that the release before has, too (`announced_version` of gateway.release.lifecycle). The facts are those
of k8s.io/api: the types of such a version differ from the others in their package only, and a few have no enums.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gateway.release.lifecycle import knows, warning

STABLE = "v1"


class Early(NamedTuple):
    """An alpha or beta version of a group."""

    kinds: frozenset[str]
    replaced: bool  # whether the warning of a deprecated version names v1
    shared: frozenset[str] = frozenset()  # Go types that are those of v1 by an alias
    plain: frozenset[str] = frozenset()  # Go types whose values no enum lists, unlike v1's
    like: str = STABLE  # the version that it is like; itself if its types are in the catalog


_POLICIES = frozenset({"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"})
_ALIASES = frozenset({"OperationType", "ReinvocationPolicyType", "Rule", "RuleWithOperations", "ScopeType"})
_CANDIDATES = frozenset({"LeaseCandidate"})
_DEVICES = frozenset({"DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"})
EARLY: Mapping[tuple[str, str], Early] = {
    ("admissionregistration.k8s.io", "v1beta1"): Early(
        _POLICIES, True, shared=_ALIASES, plain=frozenset({"FailurePolicyType", "MatchPolicyType"})
    ),
    ("certificates.k8s.io", "v1beta1"): Early(frozenset({"ClusterTrustBundle"}), True),
    ("coordination.k8s.io", "v1beta1"): Early(_CANDIDATES, False, like="v1beta1"),
    ("coordination.k8s.io", "v1alpha2"): Early(_CANDIDATES, False, like="v1beta1"),
    ("resource.k8s.io", "v1beta2"): Early(_DEVICES, False),
    ("storagemigration.k8s.io", "v1beta1"): Early(frozenset({"StorageVersionMigration"}), True),
}
"""By group and version."""

_HOOKS = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
_VALIDATING = frozenset({"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"})
_WORKLOADS = frozenset({"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"})
_GRANTS = frozenset({"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"})
_CAPACITY = frozenset({"CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"})
READABLE: Mapping[tuple[str, str], frozenset[str]] = {
    ("admissionregistration.k8s.io", "v1alpha1"): _VALIDATING | _POLICIES,
    ("admissionregistration.k8s.io", "v1beta1"): _VALIDATING | _HOOKS,
    ("apps", "v1beta1"): frozenset({"ControllerRevision", "StatefulSet"}),
    ("apps", "v1beta2"): _WORKLOADS,
    ("batch", "v1beta1"): frozenset({"CronJob"}),
    ("certificates.k8s.io", "v1alpha1"): frozenset({"ClusterTrustBundle"}),
    ("certificates.k8s.io", "v1beta1"): frozenset({"CertificateSigningRequest", "PodCertificateRequest"}),
    ("coordination.k8s.io", "v1beta1"): frozenset({"Lease"}),
    ("flowcontrol.apiserver.k8s.io", "v1beta1"): frozenset({"FlowSchema"}),
    ("flowcontrol.apiserver.k8s.io", "v1beta2"): frozenset({"FlowSchema"}),
    ("flowcontrol.apiserver.k8s.io", "v1beta3"): frozenset({"FlowSchema", "PriorityLevelConfiguration"}),
    ("networking.k8s.io", "v1beta1"): frozenset({"IngressClass", "IPAddress", "ServiceCIDR"}),
    ("node.k8s.io", "v1beta1"): frozenset({"RuntimeClass"}),
    ("rbac.authorization.k8s.io", "v1beta1"): _GRANTS,
    ("resource.k8s.io", "v1alpha3"): frozenset({"DeviceTaintRule"}),
    ("scheduling.k8s.io", "v1beta1"): frozenset({"PriorityClass"}),
    ("storage.k8s.io", "v1alpha1"): _CAPACITY,
    ("storage.k8s.io", "v1beta1"): _CAPACITY | {"CSIDriver", "CSINode", "StorageClass"},
}
"""Versions that are not served, and that stored objects may have: by group and version, the kinds whose
types have the fields and numbers of v1. A PodCertificateRequest has more fields; an object of v1 never has these.
"""


def is_early(group: str, version: str, kind: str) -> bool:
    """Whether a kind has this alpha or beta version, and it is like another one or in the catalog."""
    early = EARLY.get((group, version))
    return early is not None and kind in early.kinds


def like(group: str, version: str, kind: str) -> str:
    """The version whose type, defaults and rules a version of a kind has: for most, itself."""
    return EARLY[group, version].like if is_early(group, version, kind) else version


def read_as(group: str, version: str, kind: str) -> str:
    """The version as one of which an object is read that is stored in `version`, unless `version` is served."""
    return STABLE if kind in READABLE.get((group, version), ()) else like(group, version, kind)


def has(minor: str, group: str, version: str, kind: str) -> bool:
    """Whether kube-apiserver of a minor can serve a kind in this version, and `is_early` is true of it."""
    return is_early(group, version, kind) and knows(minor, group, version, kind)


def deprecation(minor: str, group: str, version: str, kind: str) -> str:
    """The warning of kube-apiserver of a minor in answers of an early version; "" before the version is deprecated."""
    said = warning(minor, group, version, kind)
    replacement = f"; use {group}/{STABLE} {kind}" if EARLY[group, version].replaced else ""
    return said + replacement if said else ""
