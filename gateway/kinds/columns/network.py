"""Columns of services, endpoints, ingresses and the other kinds of networking."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gateway.jsontypes import JsonObject
from gateway.kinds.columns.model import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    Columns,
    age,
    column,
    first_of,
    joined,
    labels_text,
    name_of,
    part,
    wide,
)
from gateway.kinds.columns.selectors import selector_cell

_MOST = 3  # addresses, ports and hosts that are shown


def _service(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    ips = spec.get("clusterIPs")
    return [
        name_of(obj),
        spec.get("type", ""),
        ips[0] if ips else spec.get("clusterIP") or NONE,
        _external_ip(spec, part(obj, "status", "loadBalancer")),
        joined([_service_port(port) for port in spec.get("ports") or ()]),
        age(obj),
        labels_text(spec.get("selector")),
    ]


def _external_ip(spec: JsonObject, balancer: JsonObject) -> str:
    external: list[str] = spec.get("externalIPs") or []
    match spec.get("type"):
        case "ClusterIP" | "NodePort":
            return joined(external)
        case "LoadBalancer":
            return joined(list(filter(None, [_ingress_points(balancer), *external])), "<pending>")
        case "ExternalName":
            name: str = spec.get("externalName", "")
            return name
    return UNKNOWN


def _service_port(port: JsonObject) -> str:
    node_port = port.get("nodePort", 0)
    middle = f":{node_port}" if node_port > 0 else ""
    return f"{port.get('port', 0)}{middle}/{port.get('protocol', '')}"


def _ingress_points(balancer: JsonObject) -> str:
    points = (one.get("ip") or one.get("hostname") for one in balancer.get("ingress") or ())
    return ",".join(sorted({point for point in points if point}))


def _endpoints(obj: JsonObject) -> list[Cell]:
    subsets = obj.get("subsets")
    if not subsets:
        return [name_of(obj), NONE, age(obj)]
    count = sum(len(subset.get("addresses") or ()) * max(len(subset.get("ports") or ()), 1) for subset in subsets)
    shown = ",".join(islice(_addresses(subsets), _MOST))
    return [name_of(obj), f"{shown} + {count - _MOST} more..." if count > _MOST else shown, age(obj)]


def _addresses(subsets: list[JsonObject]) -> Iterator[str]:
    for subset in subsets:
        ips = [address.get("ip", "") for address in subset.get("addresses") or ()]
        if not subset.get("ports"):
            yield from ips
        for port in subset.get("ports") or ():
            for ip in ips:
                yield f"[{ip}]:{port.get('port', 0)}" if ":" in ip else f"{ip}:{port.get('port', 0)}"


def _endpoint_slice(obj: JsonObject) -> list[Cell]:
    ports = obj.get("ports") or ()
    endpoints = obj.get("endpoints") or ()
    lists = [endpoint.get("addresses") or () for endpoint in endpoints]
    addresses = list(islice((address for some in lists for address in some), _MOST))
    return [
        name_of(obj),
        obj.get("addressType", ""),
        first_of([_slice_port(port) for port in ports[:_MOST]], len(ports)),
        first_of(addresses, sum(map(len, lists))),
        age(obj),
    ]


def _slice_port(port: JsonObject) -> str:
    number = port.get("port")
    return str(port.get("name", "*") if number is None else number)


def _ingress(obj: JsonObject) -> list[Cell]:
    spec = part(obj, "spec")
    return [
        name_of(obj),
        spec.get("ingressClassName", NONE),
        _hosts(spec.get("rules") or []),
        _ingress_points(part(obj, "status", "loadBalancer")),
        "80, 443" if spec.get("tls") else "80",
        age(obj),
    ]


def _hosts(rules: list[JsonObject]) -> str:
    """The first three hosts. If rules follow the third host, the number of rules beyond three is added."""
    at = [i for i, rule in enumerate(rules) if rule.get("host")][:_MOST]
    shown = ",".join([rules[i]["host"] for i in at]) or "*"
    more = len(at) == _MOST and len(rules) > at[-1] + 1
    return f"{shown} + {len(rules) - _MOST} more..." if more else shown


def _ingress_class(obj: JsonObject) -> list[Cell]:
    annotations = obj["metadata"].get("annotations") or {}
    default = " (default)" if annotations.get("ingressclass.kubernetes.io/is-default-class") == "true" else ""
    parameters = part(obj, "spec").get("parameters")
    shown = NONE
    if parameters is not None:
        group = f".{parameters['apiGroup']}" if "apiGroup" in parameters else ""
        shown = f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"
    return [name_of(obj) + default, part(obj, "spec").get("controller", ""), shown, age(obj)]


def _network_policy(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), selector_cell(part(obj, "spec", "podSelector")), age(obj)]


def _service_cidr(obj: JsonObject) -> list[Cell]:
    return [name_of(obj), ",".join(part(obj, "spec").get("cidrs") or ()), age(obj)]


def _ip_address(obj: JsonObject) -> list[Cell]:
    """Three cells for two columns, as in kube-apiserver."""
    parent = part(obj, "spec").get("parentRef")
    shown = NONE
    if parent is not None:
        resource = ".".join(filter(None, (parent.get("resource", ""), parent.get("group", "")))).lower()
        namespace = f"/{parent['namespace']}" if parent.get("namespace") else ""
        shown = f"{resource}{namespace}/{parent.get('name', '')}"
    return [name_of(obj), shown, age(obj)]


COLUMNS = {
    ("", "Service"): Columns(
        (
            NAME,
            column("Type", "core.v1.ServiceSpec.type"),
            column("Cluster-IP", "core.v1.ServiceSpec.clusterIP"),
            column("External-IP", "core.v1.ServiceSpec.externalIPs"),
            column("Port(s)", "core.v1.ServiceSpec.ports"),
            AGE,
            wide("Selector", "core.v1.ServiceSpec.selector"),
        ),
        _service,
    ),
    ("", "Endpoints"): Columns((NAME, column("Endpoints", "core.v1.Endpoints.subsets"), AGE), _endpoints),
    ("discovery.k8s.io", "EndpointSlice"): Columns(
        (
            NAME,
            column("AddressType", "discovery.v1.EndpointSlice.addressType"),
            column("Ports", "discovery.v1.EndpointSlice.ports"),
            column("Endpoints", "discovery.v1.EndpointSlice.endpoints"),
            AGE,
        ),
        _endpoint_slice,
    ),
    ("networking.k8s.io", "Ingress"): Columns(
        (NAME, column("Class"), column("Hosts"), column("Address"), column("Ports"), AGE),
        _ingress,
    ),
    ("networking.k8s.io", "IngressClass"): Columns(
        (NAME, column("Controller"), column("Parameters"), AGE), _ingress_class
    ),
    ("networking.k8s.io", "NetworkPolicy"): Columns(
        (NAME, column("Pod-Selector", "networking.v1.NetworkPolicySpec.podSelector"), AGE), _network_policy
    ),
    ("networking.k8s.io", "ServiceCIDR"): Columns(
        (NAME, column("CIDRs", "networking.v1.ServiceCIDRSpec.cidrs"), AGE), _service_cidr
    ),
    ("networking.k8s.io", "IPAddress"): Columns(
        (NAME, column("ParentRef", "networking.v1.IPAddressSpec.parentRef")), _ip_address
    ),
}
