"""Defaults of role bindings and of requests for service account tokens and for pods' certificates.

Source: Kubernetes API reference, RoleRef and Subject ("Defaults to..."), TokenRequestSpec, PodCertificateRequestSpec.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject

_GROUP = "rbac.authorization.k8s.io"


def _subject_group(subject: JsonObject) -> None:
    if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
        subject["apiGroup"] = _GROUP


_BINDING = compile_table({"roleRef+.apiGroup": _GROUP, "subjects[]": _subject_group})

DEFAULTERS: Defaulters = {
    (f"{_GROUP}/v1", "RoleBinding"): _BINDING,
    (f"{_GROUP}/v1", "ClusterRoleBinding"): _BINDING,
    ("authentication.k8s.io/v1", "TokenRequest"): compile_table({"spec+.expirationSeconds?": 3600}),
    ("certificates.k8s.io/v1", "PodCertificateRequest"): compile_table({"spec+.maxExpirationSeconds?": 86400}),
}
