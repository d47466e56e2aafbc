"""Gets discovery and OpenAPI documents from extension API servers."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.aggregation.identity import on_behalf_of
from gateway.aggregation.services import ApiService
from gateway.http.user import User
from gateway.outbound.client import Client, Reply
from gateway.outbound.errors import CallError
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import Header, OutboundRequest
from gateway.outbound.services import NoAddress, ServiceAddresses


class Unusable(Exception):
    """A document has wrong types, is too large, or contradicts itself. All of it is ignored."""


@dataclass(frozen=True, slots=True)
class DocumentClient:
    """Makes requests as `user`, with limits: `timeout` in seconds, and `largest`, the bytes of a response."""

    client: Client
    addresses: ServiceAddresses
    identity: ClientIdentity
    user: User
    timeout: float
    largest: int

    async def get(self, service: ApiService, path: str, headers: list[Header]) -> Reply | None:
        """The response of an APIService's server to a GET; None if there is no response."""
        try:
            target = service.target(self.addresses, self.identity)
            request = OutboundRequest("GET", path, [*headers, *on_behalf_of(self.user)])
            return await self.client.call(target, request, self.timeout, self.largest)
        except (CallError, NoAddress, OSError, ValueError):
            return None
