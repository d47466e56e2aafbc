"""Finds the address of a node's kubelet, by --kubelet-preferred-address-types."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.endpoints.endpoint import Endpoint
from gateway.http.status import StatusError, internal_error
from gateway.jsontypes import JsonObject
from gateway.outbound.client import Client, Streamed
from gateway.outbound.target import Target
from gateway.proxies.objects import object_of
from gateway.validation.field import go_quote

_UNKNOWN = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class Kubelet:
    """A kubelet: host and port for messages, and the target of calls."""

    host: str
    port: int
    target: Target

    @property
    def url(self) -> str:
        """The URL without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"https://{host}:{self.port}"


async def kubelet_of(endpoint: Endpoint, node: str, *, insecure: bool = False) -> Kubelet:
    """The kubelet of a node; with `insecure`, any certificate is trusted.

    Raises StatusError 404 for an unknown node, 500 for a node without an address or if the certificates for kubelets
    cannot be used.
    """
    services = endpoint.services
    settings = services.settings
    state = (await _node(endpoint, node)).get("status") or {}
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


async def _node(endpoint: Endpoint, name: str) -> JsonObject:
    try:
        return await object_of(endpoint, "nodes", "", name)
    except StatusError as error:
        if error.code == 404 and endpoint.services.outbound.bounds is not None and endpoint.resource.resource == "pods":
            why = f"the pod's node {go_quote(name)} is not a node of this control plane, which cannot reach its kubelet"
            raise StatusError(404, "NotFound", why, {"name": name, "kind": "nodes"}) from None
        raise


async def check_accepted(client: Client, target: Target, answer: Streamed) -> None:
    """Raises StatusError 500 if a kubelet does not know a control plane: its 401 or 403 is not about the user."""
    if answer.status in _UNKNOWN and client.bounds is not None:
        await answer.aclose()
        why = f"the kubelet at {target.host} answered {answer.status}: a control plane shows kubelets no certificate"
        raise internal_error(why)
