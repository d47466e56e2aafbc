"""pods/proxy, services/proxy, nodes/proxy: any HTTP request, passed on to a pod, a service's endpoint or a node."""

from __future__ import annotations

import random
from dataclasses import dataclass
from urllib.parse import quote

from gateway.endpoints.endpoint import Endpoint
from gateway.forwarding import headers
from gateway.forwarding.answers import passed_on, upgrade_failed, upgraded
from gateway.forwarding.links import PLAIN, Links, cleaned
from gateway.forwarding.pages import unavailable, unreachable, with_links
from gateway.forwarding.upload import body_of
from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject
from gateway.kinds.service_objects import ServiceObjects, family_of
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import Target
from gateway.outbound.trust import TlsContext, context_of
from gateway.proxies.addresses import allowed_address, is_global_unicast, not_allowed
from gateway.proxies.kubelets import kubelet_of
from gateway.proxies.objects import object_of, scheme_name_port
from gateway.schema.integers import int64
from gateway.subresources.connect import admit_connection
from gateway.validation.field import go_quote

_HIGHEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class ProxyTarget:
    """Where a request goes: host, port, and a TLS context, None for plain HTTP. `name` is the host name that the
    certificate must have.
    """

    host: str
    port: str
    context: TlsContext | None
    name: str = ""

    def target(self) -> Target:
        """The target of the call. Raises StatusError 503 for an invalid port."""
        number = int64(self.port) if self.port else (80 if self.context is None else 443)
        if number is None:
            raise unreachable(f"dial tcp: lookup tcp/{self.port}: unknown port")
        if not 0 <= number <= _HIGHEST_PORT:
            raise unreachable(f"dial tcp: address {self.port}: invalid port")
        return Target(self.host, number, self.context, self.name)


async def pod(endpoint: Endpoint, request: Request) -> Response:
    """Passes a request on to a pod, by default to its first container port. Raises StatusError 400, 404, 503."""
    options = await admit_connection(endpoint, request)
    scheme, name, port = scheme_name_port("pod", request.info.name)
    found = await object_of(endpoint, "pods", request.info.namespace, name)
    if not port:
        ports = (each["ports"][0] for each in found["spec"].get("containers") or () if each.get("ports"))
        port = str(next((each.get("containerPort", "") for each in ports), ""))
    addresses = (found.get("status") or {}).get("podIPs") or ()
    address = str(addresses[0].get("ip", "")) if addresses else ""
    if not is_global_unicast(address):
        raise not_allowed()
    return await _proxied(endpoint, request, options, ProxyTarget(address, port, _of(scheme)))


async def service(endpoint: Endpoint, request: Request) -> Response:
    """Passes a request on to one of a service's endpoints. Raises StatusError 400, 404, 503."""
    options = await admit_connection(endpoint, request)
    namespace, asked = request.info.namespace, request.info.name
    scheme, name, port = scheme_name_port("service", asked)
    if (number := int64(port)) is not None:
        found = await object_of(endpoint, "services", namespace, name)
        named = next((each for each in found["spec"].get("ports") or () if each.get("port") == number), None)
        if named is None:
            raise unavailable(f"no service port {number} found for service {go_quote(name)}")
        port = named.get("name", "")
    if endpoint.services.admission.release.gates.enabled("ServiceProxyByEndpointSlices"):
        place = await _of_slices(endpoint, namespace, name, port)
        asked = name
    else:
        place = await _of_endpoints(endpoint, namespace, name, port)
    if place is None:
        raise unavailable(f"no endpoints available for service {go_quote(asked)}")
    return await _proxied(endpoint, request, options, ProxyTarget(*place, _of(scheme)))


async def _of_slices(endpoint: Endpoint, namespace: str, name: str, port: str) -> tuple[str, str] | None:
    """The address and port of a random ready endpoint, by the EndpointSlices of a service. None if there is none."""
    slices = ServiceObjects(endpoint.services.admission.objects).endpoint_slices(namespace, name)
    random.shuffle(slices)
    family = family_of(endpoint.services.settings.service_cluster_ip_range)
    for each in sorted(slices, key=lambda found: found.get("addressType") != family):
        named = (one for one in each.get("ports") or () if (one.get("name") or "") == port)
        number = next((one["port"] for one in named if one.get("port")), None)
        ends = list(each.get("endpoints") or ()) if number is not None else []
        random.shuffle(ends)
        for end in ends:
            if (end.get("conditions") or {}).get("ready") is False:
                continue
            address = {"ip": (end.get("addresses") or ("",))[0], "targetRef": end.get("targetRef")}
            if await _belongs_to_pod(endpoint, namespace, address):
                return address["ip"], str(number)
    return None


async def _of_endpoints(endpoint: Endpoint, namespace: str, name: str, port: str) -> tuple[str, str] | None:
    """The address and port of a random ready endpoint, by the Endpoints of a service. None if there is none. Raises
    StatusError 404, 503.
    """
    endpoints = await object_of(endpoint, "endpoints", namespace, name)
    subsets = endpoints.get("subsets") or ()
    if not subsets:
        raise unavailable(f"no endpoints available for service {go_quote(name)}")
    for subset in subsets:
        place = next((each["port"] for each in subset.get("ports") or () if each.get("name", "") == port), None)
        addresses = list(subset.get("addresses") or ()) if place is not None else []
        random.shuffle(addresses)
        for address in addresses:
            if await _belongs_to_pod(endpoint, namespace, address):
                return address["ip"], str(place)
    return None


async def node(endpoint: Endpoint, request: Request) -> Response:
    """Passes a request on to a node: to its kubelet, or to another port. Raises StatusError 400, 404, 500, 503."""
    options = await admit_connection(endpoint, request)
    scheme, name, port = scheme_name_port("node", request.info.name)
    kubelet = await kubelet_of(endpoint, name)
    address = await allowed_address(kubelet.host, endpoint.services.outbound.resolve)
    if port in ("", str(kubelet.port)):
        location = ProxyTarget(address, str(kubelet.port), kubelet.target.context, kubelet.host)
    else:
        location = ProxyTarget(address, port, _of(scheme))
    return await _proxied(endpoint, request, options, location)


async def _proxied(endpoint: Endpoint, request: Request, options: JsonObject, location: ProxyTarget) -> Response:
    path, client = cleaned(options.get("path", "")), endpoint.services.outbound
    if headers.asks_for_upgrade(request):
        return await _upgraded(endpoint, request, location, path)
    if not path and request.method in ("GET", "HEAD"):
        query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
        place = f"{quote(request.path, safe=PLAIN)}/{query}"
        return Response(301, b"", b"", [(b"location", place.encode("latin-1"))], encoded=True)
    target = location.target()
    prefix = _prefix(request.path, path)
    escaped = quote(path, safe=PLAIN)
    forwarded = cleaned(f"{prefix}/{escaped.lstrip('/')}")
    query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    body, length = await body_of(request)
    asked = request.headers.get(b"host", b"").decode("latin-1")
    outbound = OutboundRequest(
        request.method,
        f"{escaped or '/'}{query}",
        headers.sent(request, (b"x-forwarded-uri", forwarded.encode())),
        body,
        length,
        authority=asked,
    )
    try:
        answer = await passed_on(client, request, target, outbound)
    except CallError as error:
        raise unreachable(str(error)) from None
    return await with_links(answer, Links(prefix, target.host_header, asked))


async def _upgraded(endpoint: Endpoint, request: Request, location: ProxyTarget, path: str) -> Response:
    sent = [*headers.sent(request, upgrade=True)]
    escaped = quote(path, safe=PLAIN) or "/"
    host = request.headers.get(b"host", b"").decode("latin-1")
    body, length = await body_of(request)
    outbound = OutboundRequest(request.method, escaped, sent, body, length, authority=host, alone=True)
    try:
        return await upgraded(await passed_on(endpoint.services.outbound, request, location.target(), outbound))
    except CallError as error:
        raise upgrade_failed(error) from None


def _prefix(whole: str, path: str) -> str:
    """The part of a request's path before the part that is passed on."""
    suffix = f"{path}/" if whole.endswith("/") and not path.endswith("/") else path
    return whole.removesuffix(suffix) if suffix else whole


def _of(scheme: str) -> TlsContext | None:
    """The TLS context for a scheme, None for HTTP. Any certificate of a pod or service is accepted, as in
    kube-apiserver: there is no CA to check it with.
    """
    return context_of("", insecure=True) if scheme == "https" else None


async def _belongs_to_pod(endpoint: Endpoint, namespace: str, address: JsonObject) -> bool:
    """Whether a pod of the namespace has the address of an endpoint. Other endpoints are not trusted, as users can
    write any address into them.
    """
    target = address.get("targetRef") or {}
    if target.get("namespace") != namespace:
        return False
    try:
        found = await object_of(endpoint, "pods", namespace, target.get("name", ""))
    except StatusError:
        return False
    known = [each.get("ip") for each in (found.get("status") or {}).get("podIPs") or ()]
    return address.get("ip") in known and is_global_unicast(str(address.get("ip")))
