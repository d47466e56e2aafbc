"""The admission plug-ins of kube-apiserver: the allowed names of --enable- and --disable-admission-plugins.

They are the plug-ins that `kube-apiserver --help` of 1.36 lists, in the order of its AllOrderedPlugins. The plug-ins
for workloads and pod groups (scheduling.k8s.io/v1alpha2) can be named, but do nothing: this alpha API is not served.
"""

from __future__ import annotations

from typing import NamedTuple


class PluginModule(NamedTuple):
    """The module of gateway.admission.plugins that has a plug-in, "" for one that does nothing.

    `asks` is the feature gate or the change that must be on, or else the plug-in is not used.
    """

    module: str
    default_on: bool = True
    asks: str = ""


PLUGINS: dict[str, PluginModule] = {
    "AlwaysAdmit": PluginModule("", default_on=False),  # deprecated
    "NamespaceAutoProvision": PluginModule("namespace_auto_provision", default_on=False),
    "NamespaceLifecycle": PluginModule("namespace_lifecycle"),
    "NamespaceExists": PluginModule("namespace_exists", default_on=False),
    "LimitPodHardAntiAffinityTopology": PluginModule("anti_affinity_topology", default_on=False),
    "LimitRanger": PluginModule("limit_ranger"),
    "ServiceAccount": PluginModule("service_account"),
    "NodeRestriction": PluginModule("node_restriction", default_on=False),
    "TaintNodesByCondition": PluginModule("node_taint"),
    "AlwaysPullImages": PluginModule("always_pull_images", default_on=False),
    "ImagePolicyWebhook": PluginModule("image_policy", default_on=False),
    "PodSecurity": PluginModule("pod_security"),
    "PodNodeSelector": PluginModule("pod_node_selector", default_on=False),
    "Priority": PluginModule("priority"),
    "DefaultTolerationSeconds": PluginModule("default_tolerations"),
    "PodTolerationRestriction": PluginModule("pod_tolerations", default_on=False),
    "EventRateLimit": PluginModule("event_rate_limit", default_on=False),
    "ExtendedResourceToleration": PluginModule("extended_resources", default_on=False),
    "DefaultStorageClass": PluginModule("default_storage_class"),
    "StorageObjectInUseProtection": PluginModule("storage_protection"),
    "PodGroupProtection": PluginModule(""),
    "OwnerReferencesPermissionEnforcement": PluginModule("owner_references", default_on=False),
    "PersistentVolumeClaimResize": PluginModule("volume_resize"),
    "RuntimeClass": PluginModule("runtime_class"),
    "CertificateApproval": PluginModule("certificate_approval"),
    "CertificateSigning": PluginModule("certificate_signing"),
    "ClusterTrustBundleAttest": PluginModule("trust_bundle_attest"),
    "CertificateSubjectRestriction": PluginModule("certificate_subject"),
    "DefaultIngressClass": PluginModule("default_ingress_class"),
    "DenyServiceExternalIPs": PluginModule("external_ips", default_on=False),
    "PodTopologyLabels": PluginModule("pod_topology_labels", asks="PodTopologyLabelsAdmission"),
    "PodGroupWorkloadExists": PluginModule(""),
    "NodeDeclaredFeatureValidator": PluginModule("declared_features", asks="NodeDeclaredFeatures"),
    "JobValidation": PluginModule(""),
    "PodResizeValidator": PluginModule("pod_resize", asks="PodResizeValidator"),
    "MutatingAdmissionPolicy": PluginModule("mutating_policies"),
    "MutatingAdmissionWebhook": PluginModule("mutating_webhooks"),
    "ValidatingAdmissionPolicy": PluginModule("validating_policies"),
    "ValidatingAdmissionWebhook": PluginModule("validating_webhooks"),
    "ResourceQuota": PluginModule("resource_quota"),
    "AlwaysDeny": PluginModule("always_deny", default_on=False),
}
