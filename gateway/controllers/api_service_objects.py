"""The APIService objects of the built-in groups, with their priorities in discovery."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gateway.controllers.bootstrap_objects import BootstrapObject

PRIORITIES: dict[str, tuple[int, dict[str, int]]] = {
    "apiregistration.k8s.io": (1 << 30, {}),  # it has no APIService, and comes first
    "": (18000, {"v1": 1}),
    "admissionregistration.k8s.io": (16700, {"v1": 15, "v1beta1": 12}),
    "apiextensions.k8s.io": (16700, {"v1": 15}),
    "apps": (17800, {"v1": 15}),
    "authentication.k8s.io": (17700, {"v1": 15}),
    "authorization.k8s.io": (17600, {"v1": 15}),
    "autoscaling": (17500, {"v1": 15, "v2": 30}),
    "batch": (17400, {"v1": 15}),
    "certificates.k8s.io": (17300, {"v1": 15, "v1beta1": 9}),
    "coordination.k8s.io": (16500, {"v1": 15, "v1beta1": 13, "v1alpha2": 12}),
    "discovery.k8s.io": (16200, {"v1": 15}),
    "events.k8s.io": (17750, {"v1": 15}),
    "flowcontrol.apiserver.k8s.io": (16100, {"v1": 21}),
    "networking.k8s.io": (17200, {"v1": 15}),
    "node.k8s.io": (16300, {"v1": 15}),
    "policy": (17100, {"v1": 15}),
    "rbac.authorization.k8s.io": (17000, {"v1": 15}),
    "resource.k8s.io": (16200, {"v1": 21, "v1beta2": 15}),
    "scheduling.k8s.io": (16600, {"v1": 15}),
    "storage.k8s.io": (16800, {"v1": 15}),
    "storagemigration.k8s.io": (15800, {"v1": 15, "v1beta1": 9}),
}
"""By group: the priority of the group, and the priority of each version."""


def api_services(served: Mapping[str, Sequence[str]]) -> Iterator[BootstrapObject]:
    """The APIServices of the groups and versions that are served here."""
    labels = {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
    for group, (priority, versions) in PRIORITIES.items():
        for version, preference in versions.items():
            if version not in served.get(group, ()):
                continue
            spec = {"group": group} if group else {}
            content = {
                "metadata": {"name": f"{version}.{group}", "labels": labels},
                "spec": {
                    **spec,
                    "version": version,
                    "groupPriorityMinimum": priority,
                    "versionPriority": preference,
                },
            }
            yield BootstrapObject("apiregistration.k8s.io", "v1", "apiservices", content)
