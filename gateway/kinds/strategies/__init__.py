"""The strategies of the built-in resources, found by name and imported when first used.

A module of this package exports `STRATEGIES`: a dict from subresource name ("" for the resource itself) to `Strategy`.
Or it exports `strategies`, a function that makes such a dict for the values of feature gates. `MODULES` names the
module of each resource; a resource without a module has the generic rules only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from importlib import import_module

from gateway.jsontypes import JsonObject
from gateway.kinds.gated_fields import Drop, drop_of
from gateway.kinds.identity import GroupResource
from gateway.kinds.strategy import Strategy
from gateway.kinds.write_context import WriteContext
from gateway.release.gates import Enabled, Gates
from gateway.release.lifecycle import GROUPS_OF_OTHER_MODULES
from gateway.release.release import DEFAULT_GATES

_ADMISSION = "admissionregistration.k8s.io"

# resource -> module of this package
MODULES: dict[GroupResource, str] = {
    GroupResource("", "pods"): "pods",
    GroupResource("", "podtemplates"): "podtemplates",
    GroupResource("", "replicationcontrollers"): "replicationcontrollers",
    GroupResource("", "nodes"): "nodes",
    GroupResource("", "namespaces"): "namespaces",
    GroupResource("apps", "deployments"): "deployments",
    GroupResource("apps", "replicasets"): "replicasets",
    GroupResource("apps", "statefulsets"): "statefulsets",
    GroupResource("apps", "daemonsets"): "daemonsets",
    GroupResource("apps", "controllerrevisions"): "controllerrevisions",
    GroupResource("batch", "jobs"): "jobs",
    GroupResource("batch", "cronjobs"): "cronjobs",
    GroupResource("", "services"): "services",
    GroupResource("", "endpoints"): "endpoints",
    GroupResource("", "configmaps"): "configmaps",
    GroupResource("", "secrets"): "secrets",
    GroupResource("", "serviceaccounts"): "serviceaccounts",
    GroupResource("", "events"): "events",
    GroupResource("", "limitranges"): "limitranges",
    GroupResource("", "resourcequotas"): "resourcequotas",
    GroupResource("events.k8s.io", "events"): "events",
    GroupResource("discovery.k8s.io", "endpointslices"): "endpointslices",
    GroupResource("networking.k8s.io", "ingresses"): "ingresses",
    GroupResource("networking.k8s.io", "ingressclasses"): "ingressclasses",
    GroupResource("networking.k8s.io", "networkpolicies"): "networkpolicies",
    GroupResource("networking.k8s.io", "ipaddresses"): "ipaddresses",
    GroupResource("networking.k8s.io", "servicecidrs"): "servicecidrs",
    GroupResource("autoscaling", "horizontalpodautoscalers"): "horizontalpodautoscalers",
    GroupResource("policy", "poddisruptionbudgets"): "poddisruptionbudgets",
    GroupResource("rbac.authorization.k8s.io", "roles"): "roles",
    GroupResource("rbac.authorization.k8s.io", "clusterroles"): "clusterroles",
    GroupResource("rbac.authorization.k8s.io", "rolebindings"): "rolebindings",
    GroupResource("rbac.authorization.k8s.io", "clusterrolebindings"): "clusterrolebindings",
    GroupResource("coordination.k8s.io", "leases"): "leases",
    GroupResource("coordination.k8s.io", "leasecandidates"): "leasecandidates",
    GroupResource("scheduling.k8s.io", "priorityclasses"): "priorityclasses",
    GroupResource("", "persistentvolumes"): "persistentvolumes",
    GroupResource("", "persistentvolumeclaims"): "persistentvolumeclaims",
    GroupResource("storage.k8s.io", "storageclasses"): "storageclasses",
    GroupResource("storage.k8s.io", "volumeattachments"): "volumeattachments",
    GroupResource("storage.k8s.io", "csidrivers"): "csidrivers",
    GroupResource("storage.k8s.io", "csinodes"): "csinodes",
    GroupResource("storage.k8s.io", "csistoragecapacities"): "csistoragecapacities",
    GroupResource("storage.k8s.io", "volumeattributesclasses"): "volumeattributesclasses",
    GroupResource("node.k8s.io", "runtimeclasses"): "runtimeclasses",
    GroupResource("resource.k8s.io", "deviceclasses"): "deviceclasses",
    GroupResource("resource.k8s.io", "resourceclaims"): "resourceclaims",
    GroupResource("resource.k8s.io", "resourceclaimtemplates"): "resourceclaimtemplates",
    GroupResource("resource.k8s.io", "resourceslices"): "resourceslices",
    GroupResource("resource.k8s.io", "devicetaintrules"): "devicetaintrules",
    GroupResource("storagemigration.k8s.io", "storageversionmigrations"): "storageversionmigrations",
    GroupResource("apiregistration.k8s.io", "apiservices"): "apiservices",
    GroupResource("apiextensions.k8s.io", "customresourcedefinitions"): "customresourcedefinitions",
    GroupResource("flowcontrol.apiserver.k8s.io", "flowschemas"): "flowschemas",
    GroupResource("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"): "prioritylevelconfigurations",
    GroupResource("certificates.k8s.io", "certificatesigningrequests"): "certificatesigningrequests",
    GroupResource("certificates.k8s.io", "clustertrustbundles"): "clustertrustbundles",
    GroupResource("certificates.k8s.io", "podcertificaterequests"): "podcertificaterequests",
    GroupResource(_ADMISSION, "validatingwebhookconfigurations"): "validatingwebhookconfigurations",
    GroupResource(_ADMISSION, "mutatingwebhookconfigurations"): "mutatingwebhookconfigurations",
    GroupResource(_ADMISSION, "validatingadmissionpolicies"): "validatingadmissionpolicies",
    GroupResource(
        "admissionregistration.k8s.io", "validatingadmissionpolicybindings"
    ): "validatingadmissionpolicybindings",
    GroupResource(_ADMISSION, "mutatingadmissionpolicies"): "mutatingadmissionpolicies",
    GroupResource(_ADMISSION, "mutatingadmissionpolicybindings"): "mutatingadmissionpolicybindings",
}

DEFAULT = Strategy()

_imported: set[str] = set()  # completely; sys.modules also has modules whose import is not finished


def is_imported(resource: GroupResource) -> bool:
    """Whether the module of a resource's strategy is imported. An import takes up to a tenth of a second."""
    module = MODULES.get(resource)
    return module is None or f"{__name__}.{module}" in _imported


def import_rules(resource: GroupResource) -> None:
    """Imports the module of a resource's strategy; to be called from a thread."""
    if (module := MODULES.get(resource)) is not None:
        import_module(f"{__name__}.{module}")
        _imported.add(f"{__name__}.{module}")


@lru_cache(maxsize=1024)
def strategy_for(group: str, resource: str, subresource: str = "", gates: Gates = DEFAULT_GATES) -> Strategy:
    """The strategy of a resource or subresource; `DEFAULT` if it has none of its own."""
    named = GroupResource(group, resource)
    module = MODULES.get(named)
    if module is None:
        return DEFAULT
    rules = import_module(f"{__name__}.{module}")
    make: Callable[[Enabled], dict[str, Strategy]] | None = getattr(rules, "strategies", None)
    strategies: dict[str, Strategy] = rules.STRATEGIES if make is None else make(gates.enabled)
    found = strategies.get(subresource, DEFAULT)
    if gates.enabled("DeclaredRulesEnforced"):
        found = _declaring(found, named, subresource, gates.enabled)
    drop = drop_of(named, gates.enabled, subresource)
    return found if drop is None else _dropping(found, drop)


_WHOLE = ("", "status", "approval")
"""Subresources whose writes have the whole object as body."""


def _declaring(strategy: Strategy, resource: GroupResource, subresource: str, enabled: Enabled) -> Strategy:
    """The strategy with the resource's declarative validation rules; only groups of k8s.io/api have such rules."""
    from gateway.kinds.declared_rules import RULES
    from gateway.validation.declared_rules import Declaration

    if resource.group in GROUPS_OF_OTHER_MODULES:
        return strategy
    rules = RULES.get(resource, ()) if subresource in _WHOLE else ()
    declared = [rule for rule in rules if not rule.gate or enabled(rule.gate.lstrip("!")) != (rule.gate[0] == "!")]
    return replace(strategy, tells_once=True, declared=Declaration(declared) if declared else ())


def _dropping(strategy: Strategy, drop: Drop) -> Strategy:
    """The strategy, which first drops the fields whose gates are off."""
    on_create, on_update = strategy.prepare_for_create, strategy.prepare_for_update

    def prepare_for_create(obj: JsonObject, context: WriteContext) -> None:
        drop(obj, None)
        on_create(obj, context)

    def prepare_for_update(obj: JsonObject, old: JsonObject, context: WriteContext) -> None:
        drop(obj, old)
        on_update(obj, old, context)

    return replace(strategy, prepare_for_create=prepare_for_create, prepare_for_update=prepare_for_update)
