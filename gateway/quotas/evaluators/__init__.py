"""The evaluators, one per module: each computes what the objects of a resource use.

Objects of resources without an evaluator of their own are only counted.
"""

from __future__ import annotations

from functools import lru_cache

from gateway.quotas.evaluator import Evaluator
from gateway.quotas.evaluators import counts, device_claims, pods, services, volume_claims

SPECIAL = {
    (evaluator.group, evaluator.resource): evaluator
    for evaluator in (pods.EVALUATOR, services.EVALUATOR, volume_claims.EVALUATOR, device_claims.EVALUATOR)
}

# These are not stored, or kube-apiserver does not count them.
IGNORED = frozenset(
    {
        ("", "bindings"),
        ("", "componentstatuses"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("", "events"),
        ("events.k8s.io", "events"),
    }
)


@lru_cache(1024)  # CRDs come and go
def evaluator_of(group: str, resource: str) -> Evaluator | None:
    """The evaluator of a resource; None for a resource that no quota limits."""
    if (group, resource) in IGNORED:
        return None
    return SPECIAL.get((group, resource)) or counts.counting(group, resource)
