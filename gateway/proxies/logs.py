"""pods/log: the log of a container, as the kubelet of the pod's node streams it."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.endpoints.endpoint import Endpoint
from gateway.forwarding.answers import Passing, passed_on
from gateway.http.exchange import Request, Response
from gateway.http.negotiation import literally_acceptable, not_acceptable, parse_accept, unacceptable
from gateway.http.status import StatusError, bad_request, internal_error
from gateway.outbound.client import Streamed
from gateway.outbound.errors import CallError
from gateway.outbound.request import Header, OutboundRequest
from gateway.proxies.kubelets import check_accepted, kubelet_of
from gateway.proxies.log_messages import as_messages
from gateway.proxies.log_options import log_options
from gateway.proxies.objects import container_of, pod_of
from gateway.webhooks.refusals import REASONS, words_of

_TEXT = b"text/plain"
_HEADERS: tuple[Header, ...] = ((b"user-agent", b"Go-http-client/1.1"),)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_SAID = 50_000  # bytes of a kubelet's error answer that are read


async def log(endpoint: Endpoint, request: Request) -> Response:
    """The log of a container; 204 for a pod that is not scheduled.

    Raises StatusError 400, 404, 406, 422, 500, or with the status of the kubelet's error answer.
    """
    _check_accepted(request.headers.get(b"accept", b"").decode("latin-1"), endpoint.services.media.types)
    options = log_options(request.info.name, request.query)
    pod = await pod_of(endpoint, request)
    container = container_of(pod, options.container)
    node = pod["spec"].get("nodeName")
    if not node:
        return Response(204, b"", b"", encoded=True)
    kubelet = await kubelet_of(endpoint, node, insecure=options.insecure)
    meta = pod["metadata"]
    path = f"/containerLogs/{meta['namespace']}/{meta['name']}/{container}"
    path += f"?{options.query}" if options.query else ""
    try:
        asked = OutboundRequest("GET", path, _HEADERS)
        answer = await passed_on(endpoint.services.outbound, request, kubelet.target, asked)
    except CallError as error:
        raise StatusError(500, "", f'Get "{kubelet.url}{path}": {error}') from None
    await check_accepted(endpoint.services.outbound, kubelet.target, answer)
    if answer.status in _REDIRECTS and (place := answer.header("location")):
        await answer.aclose()
        raise StatusError(500, "", f'Get "{place}": redirects forbidden')
    if not 200 <= answer.status <= 206:
        raise await _refused(answer, request.info.name)
    response = Response(200, Passing(answer), _TEXT, encoded=True)
    return as_messages(request, response) if b"upgrade" in request.headers else response


def _check_accepted(accept: str, types: Sequence[str]) -> None:
    """Raises StatusError 406 for an Accept header that accepts no media type of a Status, such as text/plain alone."""
    if not literally_acceptable(accept, ("text/plain", *types)):
        raise unacceptable(("text/plain", *types))
    for clause in parse_accept(accept or "*/*"):
        named = f"{clause.type}/{clause.subtype}"
        if "as" not in clause.params and (named in (*types, "*/*", "application/*")):
            return
    raise not_acceptable(types)


async def _refused(answer: Streamed, name: str) -> StatusError:
    """The error for a kubelet's error answer."""
    said = b""
    try:
        async for part in answer:
            said += part
            if len(said) >= _MOST_SAID:
                break
    except CallError as error:
        return internal_error(str(error))
    finally:
        await answer.aclose()
    text = said[:_MOST_SAID].decode("utf-8", "replace")
    if answer.status == 500:
        return internal_error(text)
    if answer.status == 400:
        return bad_request(text)
    reason = REASONS.get(answer.status, "InternalError" if answer.status >= 500 else "")
    details = {"name": name, "kind": "pods/log"}
    return StatusError(answer.status, reason, f"{words_of(answer.status, text)} ( pods/log {name})", details)
