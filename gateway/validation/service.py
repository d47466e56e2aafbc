"""Services: ports, types, addresses and families, traffic policies (page "Service", KEP-563, KEP-2438, KEP-4444)."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.validation.addresses import parse_ip, validate_cidr_legacy, validate_ip_legacy
from gateway.validation.checks import duplicate_struct, each, known, one_of, port_or_name
from gateway.validation.endpoint_addresses import validate_endpoint_ip
from gateway.validation.field import FieldError, duplicate, forbidden, invalid, required
from gateway.validation.formats import (
    is_port_number,
    validate_dns1123_label,
    validate_dns1123_subdomain,
    validate_qualified_name,
)
from gateway.validation.labels import validate_labels
from gateway.validation.service_addresses import cluster_ips_errors, is_headless

PROTOCOLS = ("SCTP", "TCP", "UDP")
TOPOLOGY_HINTS, TOPOLOGY_MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
MAX_AFFINITY_SECONDS = 86400
_LOAD_BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'"


def validate_service(service: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """The errors of everything in a Service but its metadata. `old` is None on create."""
    spec, before = service.get("spec", {}), (old or {}).get("spec", {})
    annotations = service.get("metadata", {}).get("annotations") or {}
    found: list[FieldError] = []
    hints, mode = annotations.get(TOPOLOGY_HINTS), annotations.get(TOPOLOGY_MODE)
    if hints is not None and mode is not None and hints != mode:
        path = f"metadata.annotations[{TOPOLOGY_MODE}]"
        found.append(invalid(path, mode, f"must match annotations[{TOPOLOGY_HINTS}] when both are specified"))
    found += _by_type(spec)
    names: set[str] = set()
    ports: list[JsonObject] = spec.get("ports") or []
    for i, port in enumerate(ports):
        found += _port(port, f"spec.ports[{i}]", len(ports) > 1, names)
    if selector := spec.get("selector"):
        found += validate_labels(selector, "spec.selector")
    found += _session_affinity(spec)
    found += cluster_ips_errors(spec, before if old is not None else None)
    found += _external_ips(spec, before.get("externalIPs") or ())
    found += one_of("spec.type", spec.get("type"), ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"))
    found += _node_ports(spec, ports)
    found += _source_ranges(
        spec, annotations, before, (old or {}).get("metadata", {}).get("annotations") or {}, old is None
    )
    if "allocateLoadBalancerNodePorts" in spec and spec.get("type") != "LoadBalancer":
        found.append(forbidden("spec.allocateLoadBalancerNodePorts", _LOAD_BALANCER_ONLY))
    if spec.get("type") == "LoadBalancer" and "allocateLoadBalancerNodePorts" not in spec:
        found.append(required("allocateLoadBalancerNodePorts"))
    found += load_balancer_class(spec, None)
    found += _external_traffic_policy(spec)
    found += _internal_traffic_policy(spec)
    if (distribution := spec.get("trafficDistribution")) is not None:
        supported = ("PreferClose", "PreferSameZone", "PreferSameNode")
        found += known("spec.trafficDistribution", distribution, supported)
    return found


def _by_type(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    kind, addresses = spec.get("type"), spec.get("clusterIPs") or []
    if not spec.get("ports") and not is_headless(spec) and kind != "ExternalName":
        found.append(required("spec.ports"))
    if kind in ("LoadBalancer", "NodePort") and is_headless(spec):
        found.append(invalid("spec.clusterIPs[0]", addresses[0], f"may not be set to 'None' for {kind} services"))
    if kind == "ExternalName":
        for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(key) not in (None, []):
                found.append(forbidden(f"spec.{key}", "may not be set for ExternalName services"))
        name = spec.get("externalName", "").removesuffix(".")
        found += validate_dns1123_subdomain("spec.externalName", name) if name else [required("spec.externalName")]
    return found


def _port(port: JsonObject, path: str, name_required: bool, names: set[str]) -> list[FieldError]:
    found: list[FieldError] = []
    name = port.get("name", "")
    if name:
        found += validate_dns1123_label(f"{path}.name", name)
        if name in names:
            found.append(duplicate(f"{path}.name", name))
        names.add(name)
    elif name_required:
        found.append(required(f"{path}.name"))
    found += each(f"{path}.port", port.get("port", 0), is_port_number(port.get("port", 0)))
    found += one_of(f"{path}.protocol", port.get("protocol"), PROTOCOLS)
    found += port_or_name(f"{path}.targetPort", port.get("targetPort", 0))
    if (protocol := port.get("appProtocol")) is not None:
        found += validate_qualified_name(f"{path}.appProtocol", protocol)
    return found


def _session_affinity(spec: JsonObject) -> list[FieldError]:
    affinity, config = spec.get("sessionAffinity"), spec.get("sessionAffinityConfig")
    found = one_of("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    path = "spec.sessionAffinityConfig"
    if affinity == "None" and config is not None:
        found.append(forbidden(path, "must not be set when session affinity is None"))
    if affinity != "ClientIP":
        return found
    missing = "when session affinity type is ClientIP"
    if config is None:
        found.append(required(path, missing))
    elif (client := config.get("clientIP")) is None:
        found.append(required(f"{path}.clientIP", missing))
    elif (timeout := client.get("timeoutSeconds")) is None:
        found.append(required(f"{path}.clientIP.timeoutSeconds", missing))
    elif not 0 < timeout <= MAX_AFFINITY_SECONDS:
        message = f"must be greater than 0 and less than {MAX_AFFINITY_SECONDS}"
        found.append(invalid(f"{path}.clientIP.timeoutSeconds", timeout, message))
    return found


def _external_ips(spec: JsonObject, before: list[str] | tuple[str, ...]) -> list[FieldError]:
    found: list[FieldError] = []
    for i, ip in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{i}]"
        found += validate_ip_legacy(path, ip, tuple(before)) or validate_endpoint_ip(path, ip)
    return found


def _node_ports(spec: JsonObject, ports: list[JsonObject]) -> list[FieldError]:
    found: list[FieldError] = []
    if spec.get("type") == "ClusterIP":
        for i, port in enumerate(ports):
            if port.get("nodePort"):
                found.append(forbidden(f"spec.ports[{i}].nodePort", "may not be used when `type` is 'ClusterIP'"))
    seen: set[tuple[str | None, int]] = set()
    for i, port in enumerate(ports):
        if number := port.get("nodePort"):
            if (port.get("protocol"), number) in seen:
                found.append(duplicate(f"spec.ports[{i}].nodePort", number))
            seen.add((port.get("protocol"), number))
    seen = set()
    for i, port in enumerate(ports):
        protocol, number = port.get("protocol", ""), port.get("port", 0)
        if (protocol, number) in seen:
            struct = {
                "Name": "",
                "Protocol": protocol,
                "AppProtocol": None,
                "Port": number,
                "TargetPort": 0,
                "NodePort": 0,
            }
            found.append(duplicate_struct(f"spec.ports[{i}]", **struct))
        seen.add((protocol, number))
    return found


def _source_ranges(
    spec: JsonObject, annotations: JsonObject, before: JsonObject, old_annotations: JsonObject, created: bool
) -> list[FieldError]:
    found: list[FieldError] = []
    if ranges := spec.get("loadBalancerSourceRanges"):
        path = "spec.LoadBalancerSourceRanges"
        if spec.get("type") != "LoadBalancer":
            found.append(forbidden(path, _LOAD_BALANCER_ONLY))
        existing = tuple(value.strip() for value in before.get("loadBalancerSourceRanges") or ())
        for i, value in enumerate(ranges):
            found += validate_cidr_legacy(f"{path}[{i}]", value.strip(), existing)
    elif (value := annotations.get(SOURCE_RANGES)) is not None:
        path = f"metadata.annotations[{SOURCE_RANGES}]"
        if spec.get("type") != "LoadBalancer":
            found.append(forbidden(path, _LOAD_BALANCER_ONLY))
        if (created or old_annotations.get(SOURCE_RANGES, "") != value) and value.strip():
            for part in value.strip().split(","):
                found += validate_cidr_legacy(path, part.strip())
    return found


def load_balancer_class(spec: JsonObject, before: JsonObject | None) -> list[FieldError]:
    """Only a Service of type LoadBalancer may have a class. The class is immutable while the type stays."""
    value, found = spec.get("loadBalancerClass"), []
    path = "spec.loadBalancerClass"
    if spec.get("type") != "LoadBalancer":
        return [forbidden(path, _LOAD_BALANCER_ONLY)] if value is not None else []
    if before is not None and before.get("type") == "LoadBalancer" and before.get("loadBalancerClass") != value:
        found.append(invalid(path, value, "may not change once set"))
    if value is not None:
        found += validate_qualified_name(path, value)
    return found


def externally_accessible(spec: JsonObject) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: JsonObject) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _external_traffic_policy(spec: JsonObject) -> list[FieldError]:
    found: list[FieldError] = []
    policy, port = spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort", 0)
    path = "spec.externalTrafficPolicy"
    if externally_accessible(spec):
        found += one_of(path, policy, ("Cluster", "Local"))
    elif policy:
        found.append(invalid(path, policy, "may only be set for externally-accessible services"))
    path = "spec.healthCheckNodePort"
    if not needs_health_check(spec):
        if port:
            message = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            found.append(invalid(path, port, message))
    elif not port:
        found.append(required(path))
    else:
        found += each(path, port, is_port_number(port))
    return found


def _internal_traffic_policy(spec: JsonObject) -> list[FieldError]:
    policy, path = spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy"
    if policy is None:
        return [required(path)] if spec.get("type") in ("ClusterIP", "LoadBalancer", "NodePort") else []
    return known(path, policy, ("Cluster", "Local"))


def validate_load_balancer_status(service: JsonObject, old: JsonObject) -> list[FieldError]:
    """The errors of the status: the addresses of the load balancer."""
    ingresses: list[JsonObject] = balancer_ingresses(service)
    if ingresses and service.get("spec", {}).get("type") != "LoadBalancer":
        return [forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")]
    existing = tuple(ingress["ip"] for ingress in balancer_ingresses(old) if ingress.get("ip"))
    found: list[FieldError] = []
    for i, ingress in enumerate(ingresses):
        path = f"status.loadBalancer.ingress[{i}]"
        ip, mode, hostname = ingress.get("ip", ""), ingress.get("ipMode"), ingress.get("hostname", "")
        if ip:
            found += validate_ip_legacy(f"{path}.ip", ip, existing)
        if mode is None:
            if ip:
                found.append(required(f"{path}.ipMode", "must be specified when `ip` is set"))
        elif not ip:
            found.append(forbidden(f"{path}.ipMode", "may not be specified when `ip` is not set"))
        else:
            found += known(f"{path}.ipMode", mode, ("Proxy", "VIP"))
        found += hostname_errors(f"{path}.hostname", hostname)
    return found


def balancer_ingresses(service: JsonObject) -> list[JsonObject]:
    """The addresses of the load balancer in the status of a Service or an Ingress."""
    ingresses: list[JsonObject] = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
    return ingresses


def hostname_errors(path: str, hostname: str) -> list[FieldError]:
    """The host name of a load balancer must be a DNS name, and no IP address."""
    if not hostname:
        return []
    found = validate_dns1123_subdomain(path, hostname)
    if parse_ip(hostname) is not None:
        found.append(invalid(path, hostname, "must be a DNS name, not an IP address"))
    return found
