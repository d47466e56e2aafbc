"""Gets documents of extension servers, such as those of discovery and OpenAPI."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.aggregation.identity import on_behalf_of
from gateway.aggregation.services import ApiService
from gateway.http.user import User
from gateway.outbound.client import Answer, Client
from gateway.outbound.errors import CallError
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import Header, OutboundRequest
from gateway.outbound.services import NoAddress, ServiceAddresses


class Unusable(Exception):
    """A document is not of the types that it has to have, or contradicts itself: nothing of it counts."""


@dataclass(frozen=True, slots=True)
class Documents:
    """Asks in the name of `user`; a document may take `timeout` seconds and have `largest` bytes."""

    client: Client
    addresses: ServiceAddresses
    identity: ClientIdentity
    user: User
    timeout: float
    largest: int

    async def get(self, service: ApiService, path: str, headers: list[Header]) -> Answer | None:
        """The answer of an APIService's server to a GET; None where there is none."""
        try:
            target = service.target(self.addresses, self.identity)
            request = OutboundRequest("GET", path, [*headers, *on_behalf_of(self.user)])
            return await self.client.call(target, request, self.timeout, self.largest)
        except (CallError, NoAddress, OSError, ValueError):
            return None
