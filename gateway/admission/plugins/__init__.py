"""The admission plug-ins, in the order in which kube-apiserver runs them.

A plug-in is one module with a `PLUGIN`; add it here at the place that AllOrderedPlugins of kube-apiserver gives it.
Webhooks and policies come after the built-in ones, quotas last.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from gateway.admission.chain import Chain, Parts, Plugin, compile_chain
from gateway.admission.configuration import InvalidConfiguration, read_documents
from gateway.admission.plugins import (
    always_admit,
    always_deny,
    always_pull_images,
    anti_affinity_topology,
    certificate_approval,
    certificate_signing,
    certificate_subject,
    declared_features,
    default_ingress_class,
    default_storage_class,
    default_tolerations,
    event_rate_limit,
    extended_resources,
    external_ips,
    image_policy,
    limit_ranger,
    mutating_policies,
    mutating_webhooks,
    namespace_auto_provision,
    namespace_exists,
    namespace_lifecycle,
    node_restriction,
    node_taint,
    owner_references,
    pod_node_selector,
    pod_resize,
    pod_security,
    pod_tolerations,
    pod_topology_labels,
    priority,
    resource_quota,
    runtime_class,
    service_account,
    storage_protection,
    trust_bundle_attest,
    validating_policies,
    validating_webhooks,
    volume_resize,
    workloads,
)
from gateway.kinds.resource import Resource

PLUGINS: tuple[Plugin, ...] = (
    always_admit.PLUGIN,
    namespace_auto_provision.PLUGIN,
    namespace_lifecycle.PLUGIN,
    namespace_exists.PLUGIN,
    anti_affinity_topology.PLUGIN,
    limit_ranger.PLUGIN,
    service_account.PLUGIN,
    node_restriction.PLUGIN,
    node_taint.PLUGIN,
    always_pull_images.PLUGIN,
    image_policy.PLUGIN,
    pod_security.PLUGIN,
    pod_node_selector.PLUGIN,
    priority.PLUGIN,
    default_tolerations.PLUGIN,
    pod_tolerations.PLUGIN,
    event_rate_limit.PLUGIN,
    extended_resources.PLUGIN,
    default_storage_class.PLUGIN,
    storage_protection.PLUGIN,
    workloads.POD_GROUP_PROTECTION,
    owner_references.PLUGIN,
    volume_resize.PLUGIN,
    runtime_class.PLUGIN,
    certificate_approval.PLUGIN,
    certificate_signing.PLUGIN,
    trust_bundle_attest.PLUGIN,
    certificate_subject.PLUGIN,
    default_ingress_class.PLUGIN,
    external_ips.PLUGIN,
    pod_topology_labels.PLUGIN,
    workloads.POD_GROUP_WORKLOAD_EXISTS,
    declared_features.PLUGIN,
    workloads.JOB_VALIDATION,
    pod_resize.PLUGIN,
    mutating_policies.PLUGIN,
    mutating_webhooks.PLUGIN,
    validating_policies.PLUGIN,
    validating_webhooks.PLUGIN,
    resource_quota.PLUGIN,
    always_deny.PLUGIN,
)


def active(enabled: Collection[str], disabled: Collection[str]) -> list[Plugin]:
    """The plug-ins that are on, in their order."""
    return [each for each in PLUGINS if each.name not in disabled and (each.default_on or each.name in enabled)]


def chain_for(resource: Resource, enabled: Collection[str], disabled: Collection[str], parts: Parts) -> Chain:
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
