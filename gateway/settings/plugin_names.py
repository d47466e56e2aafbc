"""Names of kube-apiserver's admission plug-ins: what may stand in --enable- and --disable-admission-plugins.

They are those that `kube-apiserver --help` of 1.36 lists.
"""

from __future__ import annotations

# fmt: off
PLUGIN_NAMES = frozenset(
    {
        "AlwaysAdmit", "AlwaysDeny", "AlwaysPullImages", "CertificateApproval", "CertificateSigning",
        "CertificateSubjectRestriction", "ClusterTrustBundleAttest", "DefaultIngressClass", "DefaultStorageClass",
        "DefaultTolerationSeconds", "DenyServiceExternalIPs", "EventRateLimit", "ExtendedResourceToleration",
        "ImagePolicyWebhook", "JobValidation", "LimitPodHardAntiAffinityTopology", "LimitRanger",
        "MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "NamespaceAutoProvision", "NamespaceExists",
        "NamespaceLifecycle", "NodeDeclaredFeatureValidator", "NodeRestriction",
        "OwnerReferencesPermissionEnforcement", "PersistentVolumeClaimResize", "PodGroupProtection",
        "PodGroupWorkloadExists", "PodNodeSelector", "PodResizeValidator", "PodSecurity", "PodTolerationRestriction",
        "PodTopologyLabels", "Priority", "ResourceQuota", "RuntimeClass", "ServiceAccount",
        "StorageObjectInUseProtection", "TaintNodesByCondition", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionWebhook",
    }
)
# fmt: on
