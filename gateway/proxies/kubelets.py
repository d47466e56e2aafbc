"""Where a node's kubelet is: at the first of its addresses of the types that are preferred."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.endpoints.endpoint import Endpoint
from gateway.http.status import StatusError, internal_error
from gateway.outbound.target import Target
from gateway.proxies.objects import object_of


@dataclass(frozen=True, slots=True)
class Kubelet:
    """A kubelet, as messages name it and as it is called."""

    host: str
    port: int
    target: Target

    @property
    def url(self) -> str:
        """The URL without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"


async def kubelet_of(endpoint: Endpoint, node: str, *, insecure: bool = False) -> Kubelet:
    """The kubelet of a node; `insecure` trusts any certificate. Raises StatusError 404, 500 where it has no address."""
    services = endpoint.services
    settings = services.settings
    state = (await object_of(endpoint, "nodes", "", node)).get("status") or {}
    addresses = [(str(each.get("type")), str(each.get("address"))) for each in state.get("addresses") or ()]
    host = next(
        (
            address
            for wanted in settings.kubelet_preferred_address_types
            for kind, address in addresses
            if kind == wanted
        ),
        None,
    )
    if host is None:
        known = " ".join(f"{{{kind} {address}}}" for kind, address in addresses)
        raise StatusError(500, "", f"no preferred addresses found; known addresses: [{known}]")
    port = ((state.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or settings.kubelet_port
    try:
        context = services.kubelets.of_kubelets(insecure=insecure)
    except (OSError, ValueError) as error:
        raise internal_error(f"the certificates for kubelets cannot be used: {error}") from None
    return Kubelet(host, port, Target(host, port, context))
