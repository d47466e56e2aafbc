"""Defaults of versions that are only read from etcd, where they differ from those of v1.

Source: k8s.io/kubernetes/pkg/apis/admissionregistration/v1beta1/defaults.go, and those of v1alpha1, apps, certificates
and flowcontrol; compared with the objects that kube-apiserver reads from etcd.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject

_WEBHOOKS = compile_table(
    {
        "webhooks[]": compile_table(
            {
                "failurePolicy?": "Ignore",
                "matchPolicy?": "Exact",
                "sideEffects?": "Unknown",
                "timeoutSeconds?": 30,
                "admissionReviewVersions": ["v1beta1"],
            }
        )
    }
)
_BINDING = compile_table({"spec.paramRef.parameterNotFoundAction": "Deny"})
_SHARES = 30  # of a limited priority level that says none, or 0, also with the annotation that once kept 0
_LEGACY = "kubernetes.io/legacy-unknown"


def _shares(level: JsonObject) -> None:
    limited = level.get("spec", {}).get("limited")
    if limited is not None and not limited.get("nominalConcurrencyShares"):
        limited["nominalConcurrencyShares"] = _SHARES


def _labels(stateful_set: JsonObject) -> None:
    """A stateful set without a selector or labels has the labels of its pods."""
    spec = stateful_set.get("spec", {})
    labels = spec.get("template", {}).get("metadata", {}).get("labels")
    if labels:
        if spec.get("selector") is None:
            spec["selector"] = {"matchLabels": dict(labels)}
        metadata = stateful_set["metadata"]
        metadata["labels"] = metadata.get("labels") or dict(labels)


_DEFAULTERS: Defaulters = {
    ("apps/v1beta1", "StatefulSet"): compile_table({"spec+.updateStrategy+.type": "OnDelete"}, _labels),
    ("admissionregistration.k8s.io/v1alpha1", "ValidatingAdmissionPolicyBinding"): _BINDING,
    ("admissionregistration.k8s.io/v1alpha1", "MutatingAdmissionPolicyBinding"): _BINDING,
    ("admissionregistration.k8s.io/v1beta1", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("certificates.k8s.io/v1beta1", "CertificateSigningRequest"): compile_table(
        {
            "spec+.usages?": ["digital signature", "key encipherment"],
            "spec+.signerName": _LEGACY,
            "status.conditions[].status": "True",
        }
    ),
    ("flowcontrol.apiserver.k8s.io/v1beta3", "PriorityLevelConfiguration"): _shares,
}


def fill_as_stored(obj: JsonObject, api_version: str, kind: str) -> None:
    """Sets the defaults that a stored object's own version has, and that v1 lacks or has otherwise; in place."""
    fill = _DEFAULTERS.get((api_version, kind))
    if fill is not None:
        fill(obj)
