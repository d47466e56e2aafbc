"""The admission plug-ins of kube-apiserver: the allowed names of --enable- and --disable-admission-plugins.

They are the plug-ins that `kube-apiserver --help` of 1.36 lists, in the order of its AllOrderedPlugins. The plug-ins
for workloads and pod groups (scheduling.k8s.io/v1alpha2) can be named, but do nothing: this alpha API is not served.
"""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """The module of gateway.admission.plugins that has a plug-in, "" for one that does nothing.

    `asks` is the feature gate or the change that must be on, or else the plug-in is not used.
    """

    module: str
    default_on: bool = True
    asks: str = ""


PLUGINS: dict[str, Place] = {
    "AlwaysAdmit": Place("", default_on=False),  # deprecated
    "NamespaceAutoProvision": Place("namespace_auto_provision", default_on=False),
    "NamespaceLifecycle": Place("namespace_lifecycle"),
    "NamespaceExists": Place("namespace_exists", default_on=False),
    "LimitPodHardAntiAffinityTopology": Place("anti_affinity_topology", default_on=False),
    "LimitRanger": Place("limit_ranger"),
    "ServiceAccount": Place("service_account"),
    "NodeRestriction": Place("node_restriction", default_on=False),
    "TaintNodesByCondition": Place("node_taint"),
    "AlwaysPullImages": Place("always_pull_images", default_on=False),
    "ImagePolicyWebhook": Place("image_policy", default_on=False),
    "PodSecurity": Place("pod_security"),
    "PodNodeSelector": Place("pod_node_selector", default_on=False),
    "Priority": Place("priority"),
    "DefaultTolerationSeconds": Place("default_tolerations"),
    "PodTolerationRestriction": Place("pod_tolerations", default_on=False),
    "EventRateLimit": Place("event_rate_limit", default_on=False),
    "ExtendedResourceToleration": Place("extended_resources", default_on=False),
    "DefaultStorageClass": Place("default_storage_class"),
    "StorageObjectInUseProtection": Place("storage_protection"),
    "PodGroupProtection": Place(""),
    "OwnerReferencesPermissionEnforcement": Place("owner_references", default_on=False),
    "PersistentVolumeClaimResize": Place("volume_resize"),
    "RuntimeClass": Place("runtime_class"),
    "CertificateApproval": Place("certificate_approval"),
    "CertificateSigning": Place("certificate_signing"),
    "ClusterTrustBundleAttest": Place("trust_bundle_attest"),
    "CertificateSubjectRestriction": Place("certificate_subject"),
    "DefaultIngressClass": Place("default_ingress_class"),
    "DenyServiceExternalIPs": Place("external_ips", default_on=False),
    "PodTopologyLabels": Place("pod_topology_labels", asks="PodTopologyLabelsAdmission"),
    "PodGroupWorkloadExists": Place(""),
    "NodeDeclaredFeatureValidator": Place("declared_features", asks="NodeDeclaredFeatures"),
    "JobValidation": Place(""),
    "PodResizeValidator": Place("pod_resize", asks="PodResizeValidator"),
    "MutatingAdmissionPolicy": Place("mutating_policies"),
    "MutatingAdmissionWebhook": Place("mutating_webhooks"),
    "ValidatingAdmissionPolicy": Place("validating_policies"),
    "ValidatingAdmissionWebhook": Place("validating_webhooks"),
    "ResourceQuota": Place("resource_quota"),
    "AlwaysDeny": Place("always_deny", default_on=False),
}
