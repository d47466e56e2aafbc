"""NodeRestriction: limits what a kubelet may write (page "Admission Control in Kubernetes", "NodeRestriction")."""

from __future__ import annotations

from gateway.admission.chain import Plugin, PluginParts, PluginReviews
from gateway.kinds.attributes import Operation
from gateway.kinds.resource import Resource

_LOOKED_AT = frozenset(
    {
        *("/pods", "/nodes", "/persistentvolumeclaims", "/serviceaccounts"),
        *("coordination.k8s.io/leases", "storage.k8s.io/csinodes", "resource.k8s.io/resourceslices"),
        *("certificates.k8s.io/certificatesigningrequests", "certificates.k8s.io/podcertificaterequests"),
    }
)


def _handles(resource: Resource, operation: Operation) -> bool:
    return operation is not Operation.CONNECT and f"{resource.group}/{resource.resource}" in _LOOKED_AT


def _make(parts: PluginParts) -> PluginReviews:
    from gateway.admission.plugins.node_writes import NodeWrites

    return PluginReviews(admit=NodeWrites(parts).admit)


PLUGIN = Plugin("NodeRestriction", _handles, _make)
