"""Forwards an authorized request to the extension API server of its group version, as kube-aggregator does."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import NamedTuple
from urllib.parse import quote, urlencode

from gateway.aggregation.identity import lines_on_behalf_of, on_behalf_of
from gateway.aggregation.services import ApiService, ApiServices
from gateway.forwarding import headers
from gateway.forwarding.answers import passed_on, upgrade_failed, upgraded
from gateway.forwarding.links import PLAIN, Links, cleaned
from gateway.forwarding.pages import with_links
from gateway.forwarding.upload import body_of
from gateway.http.exchange import TEXT_TYPE, Header, Request, Response
from gateway.http.status import StatusError
from gateway.memo import memo
from gateway.outbound.client import Client
from gateway.outbound.errors import CallError
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import OutboundRequest, lines_of
from gateway.outbound.services import NoAddress, ServiceAddresses
from gateway.outbound.target import Target

_MOST_HOPS = 32  # proxies that a request may have passed; stops loops of a server that is its own extension API server
_MEMORABLE = 512  # the greatest length of a path that is cached
_OF_PLACES = (b"x-forwarded-host", b"x-forwarded-proto")  # headers that are the same for all requests to a place
_NO_SNIFF: Header = (b"x-content-type-options", b"nosniff")
_REDIRECTED = b"the backend attempted to redirect this request, which is not permitted"


class DelegationTarget(NamedTuple):
    """The target of an APIService, with its constant headers, and how links in its responses are rewritten."""

    service: ApiService
    changes: int  # of the client certificate (`ClientIdentity.changes`) when this was made
    target: Target
    lines: bytes  # header lines of each request
    links: Links


class Delegation:
    """Finds the extension API server of a request, and forwards the request. Only for requests that are authorized."""

    def __init__(
        self, services: ApiServices, client: Client, addresses: ServiceAddresses, identity: ClientIdentity
    ) -> None:
        self.services, self._client, self._addresses, self._identity = services, client, addresses, identity
        self._places: dict[str, DelegationTarget] = {}  # by the APIService's name

    def forget(self) -> None:
        """Drops all cached places, because services have changed."""
        self._places.clear()

    def _place(self, service: ApiService) -> DelegationTarget:
        """The place of an APIService, cached until it or its service changes. Raises NoAddress, OSError, ValueError."""
        place, changes = self._places.get(service.name), self._identity.changes
        if place is None or place.service is not service or place.changes != changes:
            target = service.target(self._addresses, self._identity)
            host = target.host_header
            lines = lines_of(list(zip(_OF_PLACES, (host.encode("latin-1"), b"https"), strict=True)))
            place = DelegationTarget(service, self._identity.changes, target, lines, Links("", host, host, "https"))
            if not self._addresses.by_endpoints:
                self._places[service.name] = place
        return place

    def __call__(self, request: Request) -> Awaitable[Response] | None:
        """The response of an extension API server; None if this server must answer the request itself."""
        info = request.info
        if info.is_resource:
            found = self.services.remote.get((info.group, info.version))
        else:
            parts = info.path.split("/", 4)
            found = self.services.remote.get((parts[2], parts[3])) if len(parts) > 3 and parts[1] == "apis" else None
        return None if found is None else self._answer(request, found)

    async def _answer(self, request: Request, service: ApiService) -> Response:
        if not service.available:
            return _plain(503, "service unavailable")
        if request.headers.get(b"x-forwarded-for", b"").count(b",") >= _MOST_HOPS:
            return _plain(508, "the request goes round in circles")
        try:
            place = self._place(service)
        except NoAddress:
            return _plain(503, "service unavailable")
        except (OSError, ValueError, CallError) as error:
            return _plain(500, str(error))
        path, shown = _places(request.path)
        if request.query:
            query = [(name, value) for name in sorted(request.query) for value in request.query[name]]
            path += f"?{urlencode(query)}"
        if headers.asks_for_upgrade(request):
            return await self._upgraded(request, place.target, path)
        body, length = await body_of(request)
        sent = headers.sent(
            request,
            (b"audit-id", request.audit_id),
            (b"x-forwarded-uri", shown),
            without=_OF_PLACES,
        )
        try:
            lines = place.lines + lines_on_behalf_of(request.user)
            outbound = OutboundRequest(request.method, path, sent, body, length, lines=lines)
            answer = await passed_on(self._client, request, place.target, outbound)
        except CallError as error:
            return _plain(503, f"error trying to reach service: {error}")
        if 300 <= answer.status <= 399 and answer.first.get(b"location"):
            # the client might send its credentials to another server (CVE-2022-3172)
            await answer.aclose()
            return Response(502, _REDIRECTED, TEXT_TYPE, encoded=True)
        try:
            return await with_links(answer, place.links)
        except StatusError as error:
            return _plain(503, error.message)

    async def _upgraded(self, request: Request, target: Target, path: str) -> Response:
        sent = headers.sent(request, (b"audit-id", request.audit_id), upgrade=True)
        try:
            sent = [*sent, *on_behalf_of(request.user)]
            body, length = await body_of(request)
            asked = OutboundRequest(request.method, path, sent, body, length, alone=True)
            answer = await passed_on(self._client, request, target, asked)
        except CallError as error:
            return _plain(503, upgrade_failed(error).message)
        try:
            return await upgraded(answer)
        except CallError as error:
            return _plain(503, upgrade_failed(error).message)
        except StatusError as error:
            return _plain(503, error.message)


@memo(longest=_MEMORABLE, share=4)
def _places(path: str) -> tuple[str, bytes]:
    """A path for the request line, and for X-Forwarded-Uri."""
    return quote(path, safe=PLAIN), quote(cleaned(path), safe=PLAIN).encode()


def _plain(status: int, text: str) -> Response:
    """An error in plain text, like that of Go's http.Error."""
    return Response(status, f"{text}\n".encode(), TEXT_TYPE, [_NO_SNIFF], encoded=True)
