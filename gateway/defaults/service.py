"""Defaults of services.

Source: Kubernetes API reference, ServiceSpec; "Service Internal Traffic Policy", "Virtual IPs and Service Proxies"
(session affinity), LoadBalancerIngress.ipMode.
"""

from __future__ import annotations

from gateway.defaults.registry import Defaulters
from gateway.defaults.table import compile_table
from gateway.jsontypes import JsonObject

_AFFINITY_SECONDS = 10800


def _session_affinity(spec: JsonObject) -> None:
    affinity = spec["sessionAffinity"]
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if "timeoutSeconds" not in client:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


def _target_port(port: JsonObject) -> None:
    if port.get("targetPort", 0) in (0, ""):
        port["targetPort"] = port.get("port", 0)


def _traffic_policies(spec: JsonObject) -> None:
    kind = spec["type"]
    external = kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and spec.get("externalIPs"))
    if external and not spec.get("externalTrafficPolicy"):
        spec["externalTrafficPolicy"] = "Cluster"
    if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def _address_mode(service: JsonObject) -> None:
    if service["spec"]["type"] != "LoadBalancer":
        return
    for address in ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ():
        if address.get("ip"):
            address.setdefault("ipMode", "VIP")


_SPEC = compile_table(
    {
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "ports[].protocol": "TCP",
        "ports[]": _target_port,
    },
    _session_affinity,
    _traffic_policies,
)

_SERVICE = compile_table({"spec+": _SPEC})


def _default_service(service: JsonObject) -> None:
    _SERVICE(service)
    _address_mode(service)


DEFAULTERS: Defaulters = {("v1", "Service"): _default_service}
