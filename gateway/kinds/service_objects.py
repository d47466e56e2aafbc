"""Looks up a service and its EndpointSlices, for calls to a service by its name; the IP family of an address."""

from __future__ import annotations

from gateway.jsontypes import JsonObject
from gateway.kinds.identity import GroupVersionResource, core
from gateway.kinds.objects import Objects

SERVICE_NAME = "kubernetes.io/service-name"  # a label of EndpointSlices
_SERVICES, _SLICES = core("services"), GroupVersionResource("discovery.k8s.io", "v1", "endpointslices")


class ServiceObjects:
    """Services and their EndpointSlices, as the watch cache has them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def service(self, namespace: str, name: str) -> JsonObject | None:
        """A service, None if there is none."""
        return self._objects.cached(_SERVICES, namespace, name)

    def endpoint_slices(self, namespace: str, service: str) -> list[JsonObject]:
        """The EndpointSlices of a service. Only those whose bytes have its name are parsed: there may be thousands."""
        named = f'"{service}"'.encode("utf-8", "surrogatepass")  # a label's value has no escapes
        found = [each.parsed() for each in self._objects.readable(_SLICES, namespace) if named in each.tail]
        return [each for each in found if (each["metadata"].get("labels") or {}).get(SERVICE_NAME) == service]


def family_of(address: str) -> str:
    """The family, "IPv4" or "IPv6", of a valid address or network; of the first one in a comma-separated list."""
    return "IPv6" if ":" in address.partition(",")[0] else "IPv4"
