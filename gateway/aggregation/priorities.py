"""The priorities of the built-in groups in discovery: those of kube-apiserver's own APIServices."""

from __future__ import annotations

PRIORITIES: dict[str, tuple[int, dict[str, int]]] = {
    "apiregistration.k8s.io": (1 << 30, {}),  # it has no APIService, and comes first
    "": (18000, {"v1": 1}),
    "admissionregistration.k8s.io": (16700, {"v1": 15}),
    "apiextensions.k8s.io": (16700, {"v1": 15}),
    "apps": (17800, {"v1": 15}),
    "authentication.k8s.io": (17700, {"v1": 15}),
    "authorization.k8s.io": (17600, {"v1": 15}),
    "autoscaling": (17500, {"v1": 15, "v2": 30}),
    "batch": (17400, {"v1": 15}),
    "certificates.k8s.io": (17300, {"v1": 15}),
    "coordination.k8s.io": (16500, {"v1": 15}),
    "discovery.k8s.io": (16200, {"v1": 15}),
    "events.k8s.io": (17750, {"v1": 15}),
    "flowcontrol.apiserver.k8s.io": (16100, {"v1": 21}),
    "networking.k8s.io": (17200, {"v1": 15}),
    "node.k8s.io": (16300, {"v1": 15}),
    "policy": (17100, {"v1": 15}),
    "rbac.authorization.k8s.io": (17000, {"v1": 15}),
    "resource.k8s.io": (16200, {"v1": 21}),
    "scheduling.k8s.io": (16600, {"v1": 15}),
    "storage.k8s.io": (16800, {"v1": 15}),
}
"""By group: the priority of the group, and that of each version."""
