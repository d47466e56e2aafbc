"""What extension servers have in a namespace, and its end with the namespace."""

from __future__ import annotations

from gateway.aggregation.discovered import Discovered
from gateway.aggregation.identity import on_behalf_of
from gateway.aggregation.services import ApiService, ApiServices
from gateway.endpoints.foreign import Left
from gateway.http.user import User
from gateway.jsontypes import JsonObject, dumps, loads
from gateway.outbound.client import Answer, Client
from gateway.outbound.errors import CallError
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import OutboundRequest
from gateway.outbound.services import NoAddress, ServiceAddresses
from gateway.webhooks.refusals import refusal

TIMEOUT = 30.0  # seconds for one request
_ABSENT = frozenset({404, 405})  # what is not there, or not deleted so, leaves nothing
_OPTIONS = dumps({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"})


class Contents:
    """Deletes by the resources that discovery tells of."""

    def __init__(
        self,
        services: ApiServices,
        discovered: Discovered,
        client: Client,
        addresses: ServiceAddresses,
        identity: ClientIdentity,
    ) -> None:
        self._services, self._discovered, self._client = services, discovered, client
        self._addresses, self._identity = addresses, identity

    def undiscovered(self) -> list[str]:
        """The group versions of which their servers do not tell what they serve, sorted."""
        return sorted(
            each.group_version for each in self._services.remote.values() if not self._discovered.is_fresh(each.name)
        )

    async def empty(self, namespace: str, user: User) -> Left:
        """Has everything deleted that extension servers have in a namespace."""
        left = Left()
        for service in list(self._services.remote.values()):
            for resource in self._discovered.resources(service.group, service.version):
                verbs = set(resource.get("verbs") or ())
                if resource.get("scope") == "Namespaced" and "list" in verbs and verbs & {"delete", "deletecollection"}:
                    name = str(resource.get("resource", ""))
                    try:
                        await self._empty(service, name, verbs, namespace, user, left)
                    except (CallError, NoAddress, OSError, ValueError) as error:
                        left.failures.append(f"{name}.{service.group}: {error}")
        return left

    async def _empty(
        self, service: ApiService, resource: str, verbs: set[str], namespace: str, user: User, left: Left
    ) -> None:
        path = f"{service.path}/namespaces/{namespace}/{resource}"
        if "deletecollection" in verbs:
            self._check(await self._ask(service, "DELETE", path, user, _OPTIONS))
        else:
            for each in await self._list(service, path, user):
                self._check(await self._ask(service, "DELETE", f"{path}/{_name(each)}", user, _OPTIONS))
        found = await self._list(service, path, user)
        if found:
            left.resources[f"{resource}.{service.group}"] = len(found)
            for each in found:
                left.finalizers.update((each.get("metadata") or {}).get("finalizers") or ())

    async def _list(self, service: ApiService, path: str, user: User) -> list[JsonObject]:
        answer = await self._ask(service, "GET", path, user)
        if answer.status in _ABSENT:
            return []
        self._check(answer)
        items = loads(answer.body).get("items")
        return [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []

    def _check(self, answer: Answer) -> None:
        if answer.status >= 300 and answer.status not in _ABSENT:
            raise CallError(refusal(answer.status, answer.body))

    async def _ask(self, service: ApiService, method: str, path: str, user: User, body: bytes = b"") -> Answer:
        headers = [*on_behalf_of(user), (b"accept", b"application/json"), (b"content-type", b"application/json")]
        target = service.target(self._addresses, self._identity)
        return await self._client.call(target, OutboundRequest(method, path, headers, body), TIMEOUT)


def _name(obj: JsonObject) -> str:
    name = str((obj.get("metadata") or {}).get("name", ""))
    if not name or "/" in name or name in (".", ".."):
        raise ValueError("an object has no name that a path can have")
    return name
