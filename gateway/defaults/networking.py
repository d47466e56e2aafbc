"""Defaults of network policies, ingress classes and endpoint slices.

Source: Kubernetes API reference, NetworkPolicySpec, IngressClassParametersReference, EndpointPort.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject


def _policy_types(spec: JsonObject) -> None:
    """Without policyTypes, a policy applies to ingress; to egress as well if it has egress rules."""
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


DEFAULTERS: Defaulters = {
    ("networking.k8s.io/v1", "NetworkPolicy"): compile_table(
        {
            "spec+": _policy_types,
            "spec+.ingress[].ports[].protocol?": "TCP",
            "spec+.egress[].ports[].protocol?": "TCP",
        }
    ),
    ("networking.k8s.io/v1", "IngressClass"): compile_table({"spec.parameters.scope?": "Cluster"}),
    ("discovery.k8s.io/v1", "EndpointSlice"): compile_table({"ports[].name?": "", "ports[].protocol?": "TCP"}),
}
