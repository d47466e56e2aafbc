"""Plug-ins of the API of workloads and pod groups (scheduling.k8s.io/v1alpha2).

That API is alpha: neither kube-apiserver nor this server serves it by default, and where it is not served these have
nothing to look at. They are here so that they can be named.
"""

from __future__ import annotations

from gateway.admission.chain import Plugin, Reviews
from gateway.admission.record import Operation
from gateway.kinds.resource import Resource


def _handles(resource: Resource, operation: Operation) -> bool:
    return False


POD_GROUP_PROTECTION, POD_GROUP_WORKLOAD_EXISTS, JOB_VALIDATION = (
    Plugin(name, _handles, lambda parts: Reviews())
    for name in ("PodGroupProtection", "PodGroupWorkloadExists", "JobValidation")
)
