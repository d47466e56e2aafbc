"""Defaults of webhook configurations and admission policies.

Source: Kubernetes API reference, MutatingWebhook, ValidatingWebhook, MatchResources, RuleWithOperations.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table

_GROUP = "admissionregistration.k8s.io/v1"

_WEBHOOK = {
    "failurePolicy?": "Fail",
    "matchPolicy?": "Equivalent",
    "namespaceSelector?": {},
    "objectSelector?": {},
    "timeoutSeconds?": 10,
    "clientConfig.service.port?": 443,
    "rules[].scope?": "*",
}

_MATCH_RESOURCES = compile_table(
    {
        "matchPolicy?": "Equivalent",
        "namespaceSelector?": {},
        "objectSelector?": {},
        "resourceRules[].scope?": "*",
        "excludeResourceRules[].scope?": "*",
    }
)

_POLICY = compile_table({"spec+.failurePolicy?": "Fail", "spec+.matchConstraints": _MATCH_RESOURCES})
_BINDING = compile_table({"spec.matchResources": _MATCH_RESOURCES})

DEFAULTERS: Defaulters = {
    (_GROUP, "ValidatingWebhookConfiguration"): compile_table({"webhooks[]": compile_table(_WEBHOOK)}),
    (_GROUP, "MutatingWebhookConfiguration"): compile_table(
        {"webhooks[]": compile_table({**_WEBHOOK, "reinvocationPolicy?": "Never"})},
    ),
    (_GROUP, "ValidatingAdmissionPolicy"): _POLICY,
    (_GROUP, "MutatingAdmissionPolicy"): _POLICY,
    (_GROUP, "ValidatingAdmissionPolicyBinding"): _BINDING,
    (_GROUP, "MutatingAdmissionPolicyBinding"): _BINDING,
}
