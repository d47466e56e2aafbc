"""Passing an authorized request on to the extension server of its group version, as kube-aggregator does."""

from __future__ import annotations

from collections.abc import Awaitable
from urllib.parse import quote, urlencode

from gateway.aggregation.identity import on_behalf_of, unforged
from gateway.aggregation.services import ApiService, ApiServices
from gateway.forwarding import headers
from gateway.forwarding.answers import passed, upgrade_failed, upgraded
from gateway.forwarding.upload import body_of
from gateway.http.exchange import TEXT_TYPE, Header, Request, Response
from gateway.http.status import StatusError
from gateway.outbound.client import Client, Streamed
from gateway.outbound.errors import CallError
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import OutboundRequest
from gateway.outbound.services import NoAddress, ServiceAddresses
from gateway.outbound.target import Target

_PLAIN = "$&+,/:;=@-_.~"  # what Go leaves as it is in a path
_NO_SNIFF: Header = (b"x-content-type-options", b"nosniff")
_REDIRECTED = b"the backend attempted to redirect this request, which is not permitted"


class Delegation:
    """Finds and asks the extension server of a request. To be asked about requests that are allowed."""

    def __init__(
        self, services: ApiServices, client: Client, addresses: ServiceAddresses, identity: ClientIdentity
    ) -> None:
        self._services, self._client, self._addresses, self._identity = services, client, addresses, identity

    def __call__(self, request: Request) -> Awaitable[Response] | None:
        """The answer of another server; None where this one is to answer."""
        info = request.info
        if info.is_resource:
            found = self._services.remote.get((info.group, info.version))
        else:
            parts = info.path.split("/", 4)
            found = self._services.remote.get((parts[2], parts[3])) if len(parts) > 3 and parts[1] == "apis" else None
        return None if found is None else self._answer(request, found)

    async def _answer(self, request: Request, service: ApiService) -> Response:
        if not service.available:
            return _plain(503, "service unavailable")
        try:
            target = service.target(self._addresses, self._identity)
        except NoAddress:
            return _plain(503, "service unavailable")
        except (OSError, ValueError) as error:
            return _plain(500, str(error))
        query = urlencode(sorted((name, value) for name, values in request.query.items() for value in values))
        path = quote(request.path, safe=_PLAIN) + (f"?{query}" if query else "")
        if headers.asks_for_upgrade(request):
            return await self._upgraded(request, target, path)
        body, length = await body_of(request)
        host = target.host_header.encode("latin-1")
        sent = [
            *unforged(headers.sent(request)),
            *on_behalf_of(request.user),
            (b"x-forwarded-uri", quote(request.path, safe=_PLAIN).encode()),
            (b"x-forwarded-host", host),
            (b"x-forwarded-proto", b"https"),
        ]
        try:
            answer = await self._client.stream(target, OutboundRequest(request.method, path, sent, body, length))
        except CallError as error:
            return _plain(503, f"error trying to reach service: {error}")
        return await _unless_redirected(answer)

    async def _upgraded(self, request: Request, target: Target, path: str) -> Response:
        sent = [*unforged(headers.sent(request, upgrade=True)), *on_behalf_of(request.user)]
        try:
            answer = await self._client.stream(target, OutboundRequest(request.method, path, sent))
            return await upgraded(answer)
        except CallError as error:
            return _plain(503, upgrade_failed(error).message)
        except StatusError as error:
            return _plain(503, error.message)


async def _unless_redirected(answer: Streamed) -> Response:
    """The answer, but for a redirection: the client's credentials would go with it (CVE-2022-3172)."""
    if 300 <= answer.status <= 399 and answer.header("location"):
        await answer.aclose()
        return Response(502, _REDIRECTED, TEXT_TYPE, encoded=True)
    return passed(answer)


def _plain(status: int, text: str) -> Response:
    """An error as Go's net/http says it."""
    return Response(status, f"{text}\n".encode(), TEXT_TYPE, [_NO_SNIFF], encoded=True)
