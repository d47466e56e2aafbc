"""The admission plug-ins, in the order in which kube-apiserver runs them.

A plug-in is one module with a `PLUGIN`; add it here at the place that AllOrderedPlugins of kube-apiserver gives it.
Webhooks and policies come after the built-in ones, quotas last.
"""

from __future__ import annotations

from collections.abc import Collection

from gateway.admission.chain import Chain, Parts, Plugin, compile_chain
from gateway.admission.plugins import (
    certificate_approval,
    certificate_signing,
    certificate_subject,
    default_ingress_class,
    default_storage_class,
    default_tolerations,
    namespace_lifecycle,
    node_restriction,
    node_taint,
    priority,
    runtime_class,
    service_account,
    storage_protection,
    volume_resize,
)
from gateway.kinds.resource import Resource

PLUGINS: tuple[Plugin, ...] = (
    namespace_lifecycle.PLUGIN,
    service_account.PLUGIN,
    node_restriction.PLUGIN,
    node_taint.PLUGIN,
    priority.PLUGIN,
    default_tolerations.PLUGIN,
    default_storage_class.PLUGIN,
    storage_protection.PLUGIN,
    volume_resize.PLUGIN,
    runtime_class.PLUGIN,
    certificate_approval.PLUGIN,
    certificate_signing.PLUGIN,
    certificate_subject.PLUGIN,
    default_ingress_class.PLUGIN,
)


def chain_for(resource: Resource, enabled: Collection[str], disabled: Collection[str], parts: Parts) -> Chain:
    """The chain of a resource or subresource from the plug-ins that are on."""
    active = [p for p in PLUGINS if p.name not in disabled and (p.default_on or p.name in enabled)]
    return compile_chain(active, resource, parts)
