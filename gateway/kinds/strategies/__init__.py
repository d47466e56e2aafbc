"""The strategies of the built-in resources, found by name and imported when first used.

A module of this package exports `STRATEGIES`: a dict from subresource name ("" for the resource itself) to
`Strategy`. `MODULES` says which module a resource has; a resource without one has the generic rules only.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from gateway.kinds.strategy import Strategy

# "group/resource" (the core group is empty) -> module of this package
MODULES: dict[str, str] = {
    "/pods": "pods",
    "/podtemplates": "podtemplates",
    "/replicationcontrollers": "replicationcontrollers",
    "/nodes": "nodes",
    "/namespaces": "namespaces",
    "apps/deployments": "deployments",
    "apps/replicasets": "replicasets",
    "apps/statefulsets": "statefulsets",
    "apps/daemonsets": "daemonsets",
    "apps/controllerrevisions": "controllerrevisions",
    "batch/jobs": "jobs",
    "batch/cronjobs": "cronjobs",
    "/services": "services",
    "/endpoints": "endpoints",
    "/configmaps": "configmaps",
    "/secrets": "secrets",
    "/serviceaccounts": "serviceaccounts",
    "/events": "events",
    "/limitranges": "limitranges",
    "/resourcequotas": "resourcequotas",
    "events.k8s.io/events": "events",
    "discovery.k8s.io/endpointslices": "endpointslices",
    "networking.k8s.io/ingresses": "ingresses",
    "networking.k8s.io/ingressclasses": "ingressclasses",
    "networking.k8s.io/networkpolicies": "networkpolicies",
    "networking.k8s.io/ipaddresses": "ipaddresses",
    "networking.k8s.io/servicecidrs": "servicecidrs",
    "autoscaling/horizontalpodautoscalers": "horizontalpodautoscalers",
    "policy/poddisruptionbudgets": "poddisruptionbudgets",
    "rbac.authorization.k8s.io/roles": "roles",
    "rbac.authorization.k8s.io/clusterroles": "clusterroles",
    "rbac.authorization.k8s.io/rolebindings": "rolebindings",
    "rbac.authorization.k8s.io/clusterrolebindings": "clusterrolebindings",
    "coordination.k8s.io/leases": "leases",
    "scheduling.k8s.io/priorityclasses": "priorityclasses",
    "/persistentvolumes": "persistentvolumes",
    "/persistentvolumeclaims": "persistentvolumeclaims",
    "storage.k8s.io/storageclasses": "storageclasses",
    "storage.k8s.io/volumeattachments": "volumeattachments",
    "storage.k8s.io/csidrivers": "csidrivers",
    "storage.k8s.io/csinodes": "csinodes",
    "storage.k8s.io/csistoragecapacities": "csistoragecapacities",
    "storage.k8s.io/volumeattributesclasses": "volumeattributesclasses",
    "node.k8s.io/runtimeclasses": "runtimeclasses",
    "resource.k8s.io/deviceclasses": "deviceclasses",
    "resource.k8s.io/resourceclaims": "resourceclaims",
    "resource.k8s.io/resourceclaimtemplates": "resourceclaimtemplates",
    "resource.k8s.io/resourceslices": "resourceslices",
    "apiregistration.k8s.io/apiservices": "apiservices",
    "apiextensions.k8s.io/customresourcedefinitions": "customresourcedefinitions",
    "flowcontrol.apiserver.k8s.io/flowschemas": "flowschemas",
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": "prioritylevelconfigurations",
    "certificates.k8s.io/certificatesigningrequests": "certificatesigningrequests",
    "admissionregistration.k8s.io/validatingwebhookconfigurations": "validatingwebhookconfigurations",
    "admissionregistration.k8s.io/mutatingwebhookconfigurations": "mutatingwebhookconfigurations",
    "admissionregistration.k8s.io/validatingadmissionpolicies": "validatingadmissionpolicies",
    "admissionregistration.k8s.io/validatingadmissionpolicybindings": "validatingadmissionpolicybindings",
    "admissionregistration.k8s.io/mutatingadmissionpolicies": "mutatingadmissionpolicies",
    "admissionregistration.k8s.io/mutatingadmissionpolicybindings": "mutatingadmissionpolicybindings",
}

DEFAULT = Strategy()


@lru_cache(maxsize=1024)
def strategy_for(group: str, resource: str, subresource: str = "") -> Strategy:
    """The rules of a resource or subresource; `DEFAULT` where it has none of its own."""
    module = MODULES.get(f"{group}/{resource}")
    if module is None:
        return DEFAULT
    strategies: dict[str, Strategy] = import_module(f"{__name__}.{module}").STRATEGIES
    return strategies.get(subresource, DEFAULT)
