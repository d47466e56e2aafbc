"""The objects that every cluster has from its start, as kube-apiserver makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_network

from gateway.jsontypes import JsonObject

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
SERVICE_PORT = 443


@dataclass(frozen=True, slots=True)
class BootstrapObject:
    """An object that must exist. `content` is in a served version, without the fields that the strategy sets.

    `status` makes the status from the present time; `status_manager` applies it to the status subresource.
    """

    group: str
    version: str
    resource: str
    content: JsonObject  # with metadata, without kind and apiVersion
    status: Callable[[str], JsonObject] | None = None
    status_manager: str = ""
    manager: str = "kube-apiserver"

    @property
    def name(self) -> str:
        return str(self.content["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.content["metadata"].get("namespace", ""))


def namespaces() -> Iterator[BootstrapObject]:
    """The system namespaces and `default`."""
    for name in NAMESPACES:
        metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
        yield BootstrapObject("", "v1", "namespaces", {"metadata": metadata})


def priority_classes() -> Iterator[BootstrapObject]:
    """The two PriorityClasses of system pods."""
    for name, value, condition in (
        ("system-node-critical", 2000001000, "not be moved from their current node."),
        ("system-cluster-critical", 2000000000, "run in the cluster, but can be moved to another node if necessary."),
    ):
        content = {
            "metadata": {"name": name},
            "value": value,
            "description": f"Used for system critical pods that must {condition}",
            "preemptionPolicy": "PreemptLowerPriority",
        }
        yield BootstrapObject("scheduling.k8s.io", "v1", "priorityclasses", content)


def service_network(ranges: str, port: int) -> tuple[BootstrapObject, BootstrapObject, BootstrapObject]:
    """The ServiceCIDR, the service `kubernetes` with the range's first address, and the IPAddress of that address.

    Creating the service allocates its IPAddress as for other services. The IPAddress object is for the case that only
    it was lost. `ranges` is --service-cluster-ip-range, `port` the server's port.
    """
    cidrs = ranges.split(",")
    network = ip_network(cidrs[0])
    address, family = str(network[1]), f"IPv{network.version}"
    labels = {
        "ipaddress.kubernetes.io/ip-family": family,
        "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
    }
    parent = {"resource": "services", "namespace": "default", "name": "kubernetes"}
    group = "networking.k8s.io"
    return (
        BootstrapObject(
            group,
            "v1",
            "servicecidrs",
            {"metadata": {"name": "kubernetes"}, "spec": {"cidrs": cidrs}},
            _ready,
            "kubernetes-service-cidr-controller",
        ),
        BootstrapObject("", "v1", "services", _service(address, family, port)),
        BootstrapObject(
            group, "v1", "ipaddresses", {"metadata": {"name": address, "labels": labels}, "spec": {"parentRef": parent}}
        ),
    )


def _ready(now: str) -> JsonObject:
    """The status of a ServiceCIDR that is ready."""
    ready = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": now,
        "message": "Kubernetes default Service CIDR is ready",
    }
    return {"conditions": [ready]}


def _service(address: str, family: str, port: int) -> JsonObject:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {
            "ports": [{"name": "https", "protocol": "TCP", "port": SERVICE_PORT, "targetPort": port}],
            "clusterIP": address,
            "clusterIPs": [address],
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": [family],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
    }


def advertised_endpoints(address: str, port: int) -> Iterator[BootstrapObject]:
    """The Endpoints and the EndpointSlice of the service `kubernetes`, with this server's address."""
    name = {"name": "kubernetes", "namespace": "default"}
    skip_mirror = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    yield BootstrapObject(
        "",
        "v1",
        "endpoints",
        {"metadata": {**name, "labels": skip_mirror}, "subsets": [{"addresses": [{"ip": address}], "ports": ports}]},
    )
    yield BootstrapObject(
        "discovery.k8s.io",
        "v1",
        "endpointslices",
        {
            "metadata": {**name, "labels": {"kubernetes.io/service-name": "kubernetes"}},
            "addressType": "IPv6" if ":" in address else "IPv4",
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
            "ports": [{"name": "https", "protocol": "TCP", "port": port}],
        },
    )


def with_address(content: JsonObject, address: str) -> JsonObject | None:
    """Endpoints or an EndpointSlice with one more address; None if nothing is to change."""
    if "endpoints" in content:
        present = content["endpoints"] or []
        if any(address in endpoint["addresses"] for endpoint in present):
            return None
        one: JsonObject = {"addresses": [address], "conditions": {"ready": True}}
        everyone = sorted([*present, one], key=lambda endpoint: str(endpoint["addresses"][0]))
        return {**content, "endpoints": everyone}
    subsets = content.get("subsets") or []
    if not subsets or any(each["ip"] == address for each in subsets[0].get("addresses", ())):
        return None
    addresses = sorted([*subsets[0].get("addresses", ()), {"ip": address}], key=lambda each: str(each["ip"]))
    return {**content, "subsets": [{**subsets[0], "addresses": addresses}, *subsets[1:]]}
