"""The controllers by their names in kube-controller-manager, and the selection of --controllers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from gateway.controllers.elsewhere import ELSEWHERE
from gateway.settings.config import InvalidSettings

if TYPE_CHECKING:  # the command line is read before other modules are imported
    from gateway.controllers.controller import Controller, ControllerParts


@dataclass(frozen=True, slots=True)
class ControllerEntry:
    """A controller: its class, its service account, and its alias in --controllers."""

    place: str  # module:class, imported when the controller runs
    account: str
    alias: str
    default_on: bool = True
    told: bool = False  # whether its constructor takes a Telling

    def make(self, parts: ControllerParts) -> Controller:
        """Imports and makes the controller."""
        module, _, name = self.place.partition(":")
        making, actor = getattr(import_module(f"gateway.controllers.{module}"), name), parts.act(self.account)
        made: Controller = making(actor, parts.telling) if self.told else making(actor)
        return made


CONTROLLERS = {
    "garbage-collector-controller": ControllerEntry(
        "garbage:GarbageCollector", "generic-garbage-collector", "garbagecollector", told=True
    ),
    "namespace-controller": ControllerEntry("namespaces:Namespaces", "namespace-controller", "namespace"),
    "serviceaccount-controller": ControllerEntry(
        "service_accounts:ServiceAccounts", "service-account-controller", "serviceaccount"
    ),
    "serviceaccount-token-controller": ControllerEntry(
        "token_secrets:TokenSecrets", "tokens-controller", "serviceaccount-token"
    ),
    "root-ca-certificate-publisher-controller": ControllerEntry(
        "service_accounts:RootCertificates", "root-ca-cert-publisher", "root-ca-cert-publisher"
    ),
    "ttl-after-finished-controller": ControllerEntry(
        "finished_jobs:FinishedJobs", "ttl-after-finished-controller", "ttl-after-finished"
    ),
    "persistentvolumeclaim-protection-controller": ControllerEntry(
        "volume_protection:ClaimProtection", "pvc-protection-controller", "pvc-protection"
    ),
    "persistentvolume-protection-controller": ControllerEntry(
        "volume_protection:VolumeProtection", "pv-protection-controller", "pv-protection"
    ),
    "volumeattributesclass-protection-controller": ControllerEntry(
        "class_protection:ClassProtection",
        "volumeattributesclass-protection-controller",
        "volumeattributesclass-protection-controller",
    ),
    "clusterrole-aggregation-controller": ControllerEntry(
        "role_aggregation:RoleAggregation", "clusterrole-aggregation-controller", "clusterrole-aggregation"
    ),
    "validatingadmissionpolicy-status-controller": ControllerEntry(
        "policy_status:PolicyStatus",
        "validatingadmissionpolicy-status-controller",
        "validatingadmissionpolicy-status-controller",
    ),
    "resourcequota-controller": ControllerEntry(
        "resource_quotas:ResourceQuotas", "resourcequota-controller", "resourcequota"
    ),
    "certificatesigningrequest-cleaner-controller": ControllerEntry(
        "old_requests:OldRequests", "certificate-controller", "csrcleaner"
    ),
    "podcertificaterequest-cleaner-controller": ControllerEntry(
        "old_requests:OldPodRequests", "podcertificaterequestcleaner", "podcertificaterequest-cleaner-controller"
    ),
    "kube-apiserver-serving-clustertrustbundle-publisher-controller": ControllerEntry(
        "trust_bundles:ServingTrustBundle",
        "kube-apiserver-serving-clustertrustbundle-publisher",
        "kube-apiserver-serving-clustertrustbundle-publisher-controller",
    ),
    "storage-version-migrator-controller": ControllerEntry(
        "storage_migrations:StorageMigrations", "storage-version-migrator-controller", "svm"
    ),
    "certificatesigningrequest-approving-controller": ControllerEntry(
        "certificate_requests:Approving", "certificate-controller", "csrapproving"
    ),
    "certificatesigningrequest-signing-controller": ControllerEntry(
        "certificate_requests:Signing", "certificate-controller", "csrsigning"
    ),
    # off by default: a kubelet may be starting, and only an administrator knows that the node has none
    "pod-garbage-collector-controller": ControllerEntry(
        "absent_nodes:AbsentNodes", "pod-garbage-collector", "podgc", False
    ),
}


def wanted(names: Sequence[str]) -> list[str]:
    """The names of the controllers that --controllers selects. As in kube-controller-manager, the first mention counts.

    Raises InvalidSettings for a name of no controller.
    """
    aliases = {known.alias: name for name, known in CONTROLLERS.items()}
    chosen: dict[str, bool] = {}
    for text in names:
        name = text.removeprefix("-")
        name = aliases.get(name, name)
        if name in ELSEWHERE and text.startswith("-"):
            continue
        if name != "*" and name not in CONTROLLERS:
            listed = ", ".join(CONTROLLERS)
            raise InvalidSettings(f"--controllers: there is no {name!r} here, only {listed}")
        chosen.setdefault(name, not text.startswith("-"))
    on = chosen.get("*", False)
    return [name for name, known in CONTROLLERS.items() if chosen.get(name, on and known.default_on)]
