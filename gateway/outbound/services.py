"""The address of a service: its cluster IP, one of its endpoints, or its external name."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gateway.jsontypes import JsonObject

_CLUSTER = frozenset({"ClusterIP", "LoadBalancer", "NodePort"})

FindService = Callable[[str, str], JsonObject | None]  # (namespace, name) -> the service
FindSlices = Callable[[str, str], Iterable[JsonObject]]  # (namespace, name of the service) -> its EndpointSlices


class NoAddress(Exception):
    """A service has no address; the message says why."""


@dataclass(frozen=True, slots=True)
class ServiceAddresses:
    """Finds the addresses of services. `by_endpoints` chooses an endpoint instead of the cluster IP, as with
    `--enable-aggregator-routing`.
    """

    find: FindService
    find_slices: FindSlices
    by_endpoints: bool = False

    def address(self, namespace: str, name: str, port: int) -> tuple[str, int]:
        """Host and port for a port of a service. Raises NoAddress."""
        service = self.find(namespace, name)
        if service is None:
            raise NoAddress(f'service "{name}" not found')
        spec = service.get("spec") or {}
        kind = spec.get("type") or "ClusterIP"
        if kind == "ExternalName" and not self.by_endpoints:
            return str(spec.get("externalName", "")), port
        if kind not in _CLUSTER:
            raise NoAddress(f'unsupported service type "{kind}"')
        if kind == "ClusterIP" and spec.get("clusterIP") == "None" and not self.by_endpoints:
            raise NoAddress('cannot route to service with ClusterIP "None"')
        found = next((each for each in spec.get("ports") or () if each.get("port") == port), None)
        if found is None:
            raise NoAddress(f'no service port {port} found for service "{name}"')
        if not self.by_endpoints:
            return str(spec.get("clusterIP") or ""), port
        ends = list(endpoints(self.find_slices(namespace, name), found.get("name") or ""))
        if not ends:
            raise NoAddress(f'no endpoints available for service "{name}"')
        return random.choice(ends)


def endpoints(slices: Iterable[JsonObject], port_name: str) -> Iterator[tuple[str, int]]:
    """Yields the addresses and ports of the ready endpoints, for a port name."""
    for each in slices:
        named = [port for port in each.get("ports") or () if (port.get("name") or "") == port_name]
        ports = [port["port"] for port in named if port.get("port")]
        for endpoint in each.get("endpoints") or () if ports else ():
            if (endpoint.get("conditions") or {}).get("ready") is not False:
                yield from ((address, port) for address in endpoint.get("addresses") or () for port in ports)
