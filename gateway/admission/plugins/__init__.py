"""The admission plug-ins, in the order in which kube-apiserver runs them.

A plug-in is one module with a `PLUGIN`; add it here at the place that AllOrderedPlugins of kube-apiserver gives it.
Webhooks and policies come after the built-in ones, quotas last. A module is imported when its plug-in is on.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from gateway.admission.chain import Chain, Plugin, PluginParts, compile_chain
from gateway.admission.configuration import InvalidConfiguration, read_documents
from gateway.kinds.resource import Resource


class Place(NamedTuple):
    """In which module of this package a plug-in is, and under which name there."""

    module: str
    name: str = "PLUGIN"
    default_on: bool = True


PLUGINS: dict[str, Place] = {
    "AlwaysAdmit": Place("always_admit", default_on=False),
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
    "PodGroupProtection": Place("workloads", "POD_GROUP_PROTECTION"),
    "OwnerReferencesPermissionEnforcement": Place("owner_references", default_on=False),
    "PersistentVolumeClaimResize": Place("volume_resize"),
    "RuntimeClass": Place("runtime_class"),
    "CertificateApproval": Place("certificate_approval"),
    "CertificateSigning": Place("certificate_signing"),
    "ClusterTrustBundleAttest": Place("trust_bundle_attest"),
    "CertificateSubjectRestriction": Place("certificate_subject"),
    "DefaultIngressClass": Place("default_ingress_class"),
    "DenyServiceExternalIPs": Place("external_ips", default_on=False),
    "PodTopologyLabels": Place("pod_topology_labels"),
    "PodGroupWorkloadExists": Place("workloads", "POD_GROUP_WORKLOAD_EXISTS"),
    "NodeDeclaredFeatureValidator": Place("declared_features"),
    "JobValidation": Place("workloads", "JOB_VALIDATION"),
    "PodResizeValidator": Place("pod_resize"),
    "MutatingAdmissionPolicy": Place("mutating_policies"),
    "MutatingAdmissionWebhook": Place("mutating_webhooks"),
    "ValidatingAdmissionPolicy": Place("validating_policies"),
    "ValidatingAdmissionWebhook": Place("validating_webhooks"),
    "ResourceQuota": Place("resource_quota"),
    "AlwaysDeny": Place("always_deny", default_on=False),
}


@cache
def plugin_of(name: str) -> Plugin:
    """The plug-in of a name. Raises KeyError where there is none."""
    place = PLUGINS[name]
    plugin: Plugin = getattr(import_module(f"{__name__}.{place.module}"), place.name)
    return plugin


def active(enabled: Collection[str], disabled: Collection[str]) -> list[Plugin]:
    """The plug-ins that are on, in their order."""
    on = (name for name, place in PLUGINS.items() if name not in disabled and (place.default_on or name in enabled))
    return [plugin_of(name) for name in on]


def chain_for(resource: Resource, enabled: Collection[str], disabled: Collection[str], parts: PluginParts) -> Chain:
    """The chain of a resource or subresource from the plug-ins that are on."""
    return compile_chain(active(enabled, disabled), resource, parts)


def configure(path: Path | None, enabled: Collection[str], disabled: Collection[str]) -> dict[str, object]:
    """What each plug-in that is on makes of its part of --admission-control-config-file, by its name.

    To be called once a process. Raises OSError, InvalidConfiguration.
    """
    documents = {} if path is None else read_documents(path)
    configured = {}
    for plugin in active(enabled, disabled):
        if plugin.configure is not None:
            try:
                configured[plugin.name] = plugin.configure(documents.get(plugin.name))
            except InvalidConfiguration as error:
                raise InvalidConfiguration(f"{plugin.name}: {error}") from None
    return configured
