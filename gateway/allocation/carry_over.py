"""Copies allocated addresses and ports into an update that leaves them out, so that a manifest can be sent again."""

from __future__ import annotations

from gateway.jsontypes import JsonObject


def keep_allocated(spec: JsonObject, before: JsonObject) -> None:
    """Copies addresses and ports of the old spec into `spec`, in place, where that has none."""
    if spec.get("type") != "ExternalName" and before.get("type") != "ExternalName":
        for key in ("clusterIP", "clusterIPs"):
            if not spec.get(key) and before.get(key):
                spec[key] = before[key]
    if needs_node_ports(spec) and needs_node_ports(before):
        _keep_node_ports(spec, before)
    checked = needs_health_check_port(spec) and needs_health_check_port(before)
    if checked and not spec.get("healthCheckNodePort") and before.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before["healthCheckNodePort"]


def needs_node_ports(spec: JsonObject) -> bool:
    """Whether the ports of a service get node ports."""
    if spec.get("type") == "LoadBalancer":
        return spec.get("allocateLoadBalancerNodePorts") is not False
    return spec.get("type") == "NodePort"


def needs_health_check_port(spec: JsonObject) -> bool:
    """Whether a service has a node port for health checks: a load balancer that keeps traffic local."""
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def node_ports(spec: JsonObject) -> list[int]:
    """The node ports of a service's ports."""
    return [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]


def _keep_node_ports(spec: JsonObject, before: JsonObject) -> None:
    used = set(node_ports(before)) & set(node_ports(spec))
    by_name = {port.get("name", ""): port.get("nodePort", 0) for port in before.get("ports") or ()}
    for port in spec.get("ports") or ():
        known = by_name.get(port.get("name", ""), 0)
        if not port.get("nodePort") and known and known not in used:
            port["nodePort"] = known


def in_step(spec: JsonObject, before: JsonObject | None) -> None:
    """Brings clusterIPs in line with clusterIP, for clients that know only clusterIP."""
    address, addresses = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if before is None:
        if address and not addresses:
            spec["clusterIPs"] = [address]
        return
    old_address, old_addresses = before.get("clusterIP") or "", before.get("clusterIPs") or []
    if old_addresses and not addresses and old_address == address:
        spec["clusterIPs"] = addresses = list(old_addresses)
    if old_address == address or addresses != old_addresses:
        return
    if old_address and not address:
        spec.pop("clusterIPs", None)
    else:
        spec["clusterIPs"] = [address]
