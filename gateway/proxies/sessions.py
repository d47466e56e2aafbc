"""pods/exec, attach and portforward: a connection to the kubelet of the pod's node, upgraded as the client asks.

Bytes are passed on unchanged. The exception are WebSockets of version 5 and of portforward, for which this server
speaks SPDY to the kubelet (`channels`, `carried`).
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from gateway.access.authorization import Decision, with_verb
from gateway.endpoints.endpoint import Endpoint
from gateway.forwarding import headers
from gateway.forwarding.answers import passed_on, upgrade_failed, upgraded
from gateway.http.exchange import Request, Response
from gateway.http.status import bad_request, forbidden
from gateway.jsontypes import JsonObject
from gateway.kinds.attributes import Attributes
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest
from gateway.proxies import channels, portforward_tunnel
from gateway.proxies.kubelets import Kubelet, check_accepted, kubelet_of
from gateway.proxies.objects import container_of, pod_of
from gateway.subresources.connect import admit_connection

_STREAMS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}


async def execute(endpoint: Endpoint, request: Request) -> Response:
    """exec: runs a command in a container. Raises StatusError 400, 403, 404, 500."""
    return await _in_container(endpoint, request, "exec")


async def attach(endpoint: Endpoint, request: Request) -> Response:
    """attach: connects to the streams of a running container. Raises StatusError 400, 403, 404, 500."""
    return await _in_container(endpoint, request, "attach")


async def portforward(endpoint: Endpoint, request: Request) -> Response:
    """portforward: opens connections to ports of a pod. Raises StatusError 400, 403, 404, 500."""
    options = await _admitted(endpoint, request)
    pod = await pod_of(endpoint, request)
    kubelet = await _kubelet(endpoint, pod)
    ports = options.get("ports") or ()
    query = f"?{urlencode({'port': ','.join(map(str, ports))})}" if ports else ""
    meta = pod["metadata"]
    return await _session(endpoint, request, kubelet, f"/portForward/{meta['namespace']}/{meta['name']}{query}")


async def _in_container(endpoint: Endpoint, request: Request, what: str) -> Response:
    options = await _admitted(endpoint, request)
    pod = await pod_of(endpoint, request)
    container = container_of(pod, options.get("container", ""))
    kubelet = await _kubelet(endpoint, pod)
    asked = [("command", each) for each in options.get("command") or ()]
    asked += sorted((name, "1") for option, name in _STREAMS.items() if options.get(option))
    query = f"?{urlencode(asked)}" if asked else ""
    meta = pod["metadata"]
    return await _session(
        endpoint, request, kubelet, f"/{what}/{meta['namespace']}/{meta['name']}/{container}{query}", options
    )


async def _admitted(endpoint: Endpoint, request: Request) -> JsonObject:
    """The options of a session, after admission. The user needs the right to create it, whatever the HTTP method is.
    Raises StatusError 403.
    """
    if request.info.verb != "create":
        asked = with_verb(Attributes(request.user, request.info), "create")
        authorizer = endpoint.services.authorizer
        verdict = authorizer.known(asked) or await authorizer.authorize(asked)
        if verdict.decision is not Decision.ALLOW:
            raise forbidden("", request.info.resource, request.info.name, verdict.reason)
    return await admit_connection(endpoint, request)


async def _kubelet(endpoint: Endpoint, pod: JsonObject) -> Kubelet:
    node = pod["spec"].get("nodeName")
    if not node:
        raise bad_request(f"pod {pod['metadata']['name']} does not have a host assigned")
    return await kubelet_of(endpoint, node)


async def _session(
    endpoint: Endpoint, request: Request, kubelet: Kubelet, path: str, options: Mapping[str, object] | None = None
) -> Response:
    if not headers.asks_for_upgrade(request):
        raise bad_request("Upgrade request required")
    client = endpoint.services.outbound
    if options is not None and channels.is_wanted(request):
        return channels.session(request, client, kubelet, path, options)
    if options is None and portforward_tunnel.is_wanted(request):
        return await portforward_tunnel.session(request, client, kubelet.target, path)
    sent = headers.sent(request, upgrade=True)
    host = request.headers.get(b"host", b"").decode("latin-1")
    outbound = OutboundRequest(request.method, path, sent, authority=host, alone=True)
    try:
        answer = await passed_on(client, request, kubelet.target, outbound)
        await check_accepted(client, kubelet.target, answer)
        return await upgraded(answer)
    except CallError as error:
        raise upgrade_failed(error) from None
