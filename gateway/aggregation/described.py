"""OpenAPI of extension servers: where their documents of version 3 are, and their part of version 2's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gateway.aggregation.identity import on_behalf_of
from gateway.aggregation.services import ApiService, ApiServices
from gateway.controllers.queue import WorkQueue
from gateway.http.user import User
from gateway.jsontypes import JsonObject, loads
from gateway.openapi.others import Document, Named
from gateway.outbound.client import Answer, Client
from gateway.outbound.errors import CallError
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import Header, OutboundRequest
from gateway.outbound.services import NoAddress, ServiceAddresses

AGGREGATOR = User("system:aggregator")
TIMEOUT = 10.0  # seconds for one document
EVERY = 60.0  # seconds between looks
LARGEST = 16 << 20  # bytes of a document
_ROOT, _VERSION_2 = "/openapi/v3", "/openapi/v2"
_JSON: Header = (b"accept", b"application/json")


@dataclass(slots=True)
class _Known:
    """What a server says of itself."""

    places: dict[str, str] = field(default_factory=dict)
    paths: dict[str, JsonObject] = field(default_factory=dict)
    definitions: dict[str, JsonObject] = field(default_factory=dict)
    tag: str = ""  # of its document of version 2


class Described:
    """Asks extension servers for their descriptions. Keys are names of APIServices."""

    def __init__(
        self, services: ApiServices, client: Client, addresses: ServiceAddresses, identity: ClientIdentity
    ) -> None:
        self._services, self._client, self._addresses, self._identity = services, client, addresses, identity
        self._known: dict[str, _Known] = {}
        self._listeners: list[Callable[[], None]] = []
        self.queue: WorkQueue[str] = WorkQueue("openapi-aggregation-controller", max_delay=EVERY)

    def changed(self, names: set[str]) -> None:
        """Has servers asked again."""
        for name in names:
            self.queue.add(name)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Has somebody told when version 2's part changes."""
        self._listeners.append(listener)

    async def reconcile(self, name: str) -> None:
        """Asks the server of one APIService."""
        service = self._services.all.get(name)
        before = self._known.get(name, _Known())
        if service is None or service.service is None:
            found = self._known.pop(name, None) and _Known()
        else:
            self.queue.add_after(name, EVERY)
            if not service.available:
                return  # what it said last stays
            found = _Known(await self._places(service), before.paths, before.definitions, before.tag)
            await self._describe(service, found)
            self._known[name] = found
        if found is not None and (found.paths, found.definitions) != (before.paths, before.definitions):
            for listener in self._listeners:
                listener()

    async def _places(self, service: ApiService) -> dict[str, str]:
        answer = await self._get(service, _ROOT, [])
        paths = _object(await _read(answer)).get("paths") if answer is not None and answer.status == 200 else None
        own = service.path.strip("/")
        found = _object(_object(paths).get(own)).get("serverRelativeURL")
        return {own: found} if isinstance(found, str) and found.startswith(f"{_ROOT}/{own}") else {}

    async def _describe(self, service: ApiService, known: _Known) -> None:
        """Takes the server's document of version 2, unless it is the one that is known."""
        asked = [_JSON, (b"if-none-match", known.tag.encode("latin-1", "replace"))] if known.tag else [_JSON]
        answer = await self._get(service, _VERSION_2, asked)
        if answer is None or answer.status != 200:
            return
        document = await _read(answer)
        paths, below = _object(document.get("paths")), f"{service.path}/"
        known.paths = {path: value for path, value in paths.items() if f"{path}/".startswith(below)}
        known.definitions = dict(_object(document.get("definitions"))) if known.paths else {}
        known.tag = answer.header("etag")

    async def _get(self, service: ApiService, path: str, headers: list[Header]) -> Answer | None:
        try:
            target = service.target(self._addresses, self._identity)
            request = OutboundRequest("GET", path, [*headers, *on_behalf_of(AGGREGATOR)])
            return await self._client.call(target, request, TIMEOUT, LARGEST)
        except (CallError, NoAddress, OSError, ValueError):
            return None

    # what the routes ask

    def places(self) -> Mapping[str, str]:
        """The documents of version 3, and where they are."""
        return {place: url for known in self._known.values() for place, url in known.places.items()}

    async def document(self, place: str, query: str, headers: Mapping[str, str]) -> Document | None:
        """A document of version 3; None for what is no other server's."""
        name = next((name for name, known in self._known.items() if place in known.places), None)
        service = None if name is None else self._services.all.get(name)
        if service is None or service.service is None:
            return None
        asked = [(key.encode("latin-1"), value.encode("latin-1", "replace")) for key, value in headers.items()]
        answer = await self._get(service, f"{_ROOT}/{place}" + (f"?{query}" if query else ""), asked)
        if answer is None:
            return Document(503, {"content-type": "text/plain; charset=utf-8"}, b"service unavailable\n")
        said = {key.decode("latin-1"): value.decode("latin-1") for key, value in answer.headers}
        kept = ("content-type", "etag", "cache-control", "expires", "vary", "last-modified")
        return Document(answer.status, {key: said[key] for key in kept if key in said}, answer.body)

    def version_2(self) -> tuple[Named, Named]:
        """Paths and definitions of all servers."""
        paths, definitions = dict[str, JsonObject](), dict[str, JsonObject]()
        for known in self._known.values():
            paths |= known.paths
            definitions |= known.definitions
        return paths, definitions


async def _read(answer: Answer) -> JsonObject:
    try:
        return _object(await asyncio.to_thread(loads, answer.body))
    except ValueError:
        return {}


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
