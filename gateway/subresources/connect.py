"""pods/log, exec, attach, portforward, proxy, services/proxy and nodes/proxy, as an API server without nodes answers.

Everything that an API server checks by itself is checked: the pod, its container, its node, the endpoints of a
service. What would then go on to a kubelet or a pod ends here, as it does where none can be reached.
"""

from __future__ import annotations

from ipaddress import ip_address

from gateway.endpoints.endpoint import Endpoint
from gateway.http import status
from gateway.http.exchange import Request, Response
from gateway.http.status import StatusError
from gateway.jsontypes import JsonObject, loads
from gateway.schema.integers import int64
from gateway.subresources.connecting import admit_connection
from gateway.validation.field import go_quote

TEXT = b"text/plain"
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


async def log(endpoint: Endpoint, request: Request) -> Response:
    """The log of a container: empty for a pod on no node. Raises StatusError 400, 404, 500."""
    pod = await _pod(endpoint, request)
    _container(pod, request.parameter("container"))
    node = pod["spec"].get("nodeName")
    if not node:
        return Response(200, b"", TEXT)
    raise await _no_kubelet(endpoint, node)


async def stream(endpoint: Endpoint, request: Request) -> Response:
    """exec, attach and portforward: a connection to the pod's node. Raises StatusError 400, 404, 500."""
    await admit_connection(endpoint, request)
    pod = await _pod(endpoint, request)
    if endpoint.resource.subresource != "portforward":
        _container(pod, request.parameter("container"))
    node = pod["spec"].get("nodeName")
    if not node:
        raise status.bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
    raise await _no_kubelet(endpoint, node)


async def pod_proxy(endpoint: Endpoint, request: Request) -> Response:
    """An HTTP request to a pod. Raises StatusError 400, 404, 503."""
    await admit_connection(endpoint, request)
    name = _scheme_name_port("pod", request.info.name)[1]
    pod = await _object(endpoint, "", "pods", request.info.namespace, name)
    address = (pod.get("status") or {}).get("podIP", "")
    if not _is_global(address):
        raise status.bad_request("address not allowed")
    raise _unreachable(f"dial tcp {address}: connect: no route to host")


async def service_proxy(endpoint: Endpoint, request: Request) -> Response:
    """An HTTP request to a service's endpoints. Raises StatusError 400, 404, 503."""
    await admit_connection(endpoint, request)
    namespace, asked = request.info.namespace, request.info.name
    _, name, port = _scheme_name_port("service", asked)
    if port.isdigit():
        service = await _object(endpoint, "", "services", namespace, name)
        found = next((each for each in service["spec"].get("ports") or () if each.get("port") == int64(port)), None)
        if found is None:
            raise _unavailable(f"no service port {port.lstrip('0') or 0} found for service {go_quote(name)}")
        port = found.get("name", "")
    endpoints = await _object(endpoint, "", "endpoints", namespace, name)
    subsets = endpoints.get("subsets") or ()
    if not subsets:
        raise _unavailable(f"no endpoints available for service {go_quote(name)}")
    for subset in subsets:
        ports = [each.get("name", "") for each in subset.get("ports") or ()]
        for address in subset.get("addresses") or () if port in ports else ():
            if await _belongs_to_pod(endpoint, namespace, address):
                raise _unreachable(f"dial tcp {address['ip']}: connect: no route to host")
    raise _unavailable(f"no endpoints available for service {go_quote(asked)}")


async def node_proxy(endpoint: Endpoint, request: Request) -> Response:
    """An HTTP request to a node's kubelet. Raises StatusError 400, 404, 503."""
    await admit_connection(endpoint, request)
    _, name, _ = _scheme_name_port("node", request.info.name)
    await _object(endpoint, "", "nodes", "", name)
    raise _unreachable(f"dial tcp: lookup {name}: no such host")


async def _object(endpoint: Endpoint, group: str, plural: str, namespace: str, name: str) -> JsonObject:
    served = endpoint.siblings.of(group, "v1", plural)
    entry = await endpoint.store.reads.get(served.cache, served.key(namespace, name))
    if entry is None:
        raise status.not_found(group, plural, name)
    found: JsonObject = loads(served.shape.json(served.versions.of(entry)))
    return found


async def _pod(endpoint: Endpoint, request: Request) -> JsonObject:
    return await _object(endpoint, "", "pods", request.info.namespace, request.info.name)


def _container(pod: JsonObject, asked: str) -> None:
    """Raises StatusError 400 when it is not clear which container is meant, or there is none of that name."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    names = [each["name"] for key in _CONTAINERS for each in spec.get(key) or ()]
    if asked:
        if asked not in names:
            raise status.bad_request(f"container {asked} is not valid for pod {name}")
    elif len(spec.get("containers") or ()) != 1:
        choice = f", choose one of: [{' '.join(names)}]" if spec.get("containers") else ""
        raise status.bad_request(f"a container name must be specified for pod {name}{choice}")


async def _no_kubelet(endpoint: Endpoint, node: str) -> StatusError:
    """What keeps the server from reaching a node's kubelet."""
    found = await _object(endpoint, "", "nodes", "", node)
    state = found.get("status") or {}
    addresses = {each.get("type"): each.get("address") for each in state.get("addresses") or ()}
    host = addresses.get("Hostname") or addresses.get("InternalIP") or addresses.get("ExternalIP")
    if not host:
        return StatusError(500, "", f"no preferred addresses found; known addresses: {list(addresses)}")
    return StatusError(500, "", f"dial tcp: lookup {host}: no such host")


def _scheme_name_port(what: str, text: str) -> tuple[str, str, str]:
    """Reads "[scheme:]name[:port]"; raises StatusError 400."""
    parts = text.split(":")
    if len(parts) == 3:
        scheme, name, port = parts
    else:
        scheme, name, port = "", parts[0], parts[1] if len(parts) == 2 else ""
    if len(parts) > 3 or not name or scheme not in ("", "http", "https"):
        raise status.bad_request(f"invalid {what} request {go_quote(text)}")
    return scheme, name, port


def _is_global(address: str) -> bool:
    try:
        found = ip_address(address)
    except ValueError:
        return False
    return not (found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified)


async def _belongs_to_pod(endpoint: Endpoint, namespace: str, address: JsonObject) -> bool:
    """Endpoints are only trusted when a pod of the namespace has the address."""
    target = address.get("targetRef") or {}
    if target.get("namespace") != namespace:
        return False
    served = endpoint.siblings.of("", "v1", "pods")
    entry = served.cache.get(served.key(namespace, target.get("name", "")))
    if entry is None:
        return False
    pod = loads(served.shape.json(served.versions.of(entry)))
    addresses = [each.get("ip") for each in (pod.get("status") or {}).get("podIPs") or ()]
    return address.get("ip") in addresses


def _unavailable(message: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", message)


def _unreachable(cause: str) -> StatusError:
    return _unavailable(f"error trying to reach service: {cause}")
