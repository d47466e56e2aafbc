"""Gets the OpenAPI of extension API servers: the paths of version 3 documents, and parts of the version 2 document.

If a server has only version 2, its document is converted to version 3.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from gateway.aggregation.documents import DocumentClient
from gateway.aggregation.services import ApiService, ApiServices
from gateway.http.user import User
from gateway.jsontypes import JsonObject, dumps
from gateway.openapi.others import Converted, Document, Part
from gateway.outbound.client import Client, Reply
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import Header
from gateway.outbound.services import ServiceAddresses
from gateway.schema.outside import read_object_soon
from gateway.work_queue import WorkQueue

AGGREGATOR = User("system:aggregator")
TIMEOUT = 10.0  # seconds for one document
EVERY = 60.0  # seconds between two requests
LARGEST = 8 << 20  # bytes of a document
MOST_PLACES = 1_000  # the most documents of one server: each request for the index reads them all
_ROOT, _VERSION_2 = "/openapi/v3", "/openapi/v2"
_JSON: Header = (b"accept", b"application/json")
_ABSENT = 404


@dataclass(slots=True)
class _Known:
    """The OpenAPI of one APIService's server: URLs of version 3 by place, its part of version 2."""

    places: dict[str, str] = field(default_factory=dict)
    paths: dict[str, JsonObject] = field(default_factory=dict)
    definitions: dict[str, JsonObject] = field(default_factory=dict)
    tag: str = ""  # the ETag of its version 2 document
    digest: bytes = b""  # of its version 2 document
    converted: Converted | None = None  # the converted document of a server without version 3


class ExtensionOpenApi:
    """Gets the OpenAPI of extension API servers. The queue has names of APIServices."""

    def __init__(
        self, services: ApiServices, client: Client, addresses: ServiceAddresses, identity: ClientIdentity
    ) -> None:
        self._services = services
        self._documents = DocumentClient(client, addresses, identity, AGGREGATOR, TIMEOUT, LARGEST)
        self._known: dict[str, _Known] = {}
        self._listeners: list[Callable[[], None]] = []
        self.queue: WorkQueue[str] = WorkQueue("openapi-aggregation-controller", max_delay=EVERY)

    def changed(self, names: Collection[str]) -> None:
        """Queues APIServices whose OpenAPI must be requested again."""
        for name in names:
            self.queue.add(name)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Calls a function whenever a server's part of the version 2 document changes."""
        self._listeners.append(listener)

    async def reconcile(self, name: str) -> None:
        """Gets the OpenAPI of one APIService's server."""
        service = self._services.get(name)
        before = self._known.get(name, _Known())
        if service is None or service.service is None:
            found = self._known.pop(name, None) and _Known()
        else:
            self.queue.add_after(name, EVERY)
            if not service.available:
                return  # the last known OpenAPI stays
            found = replace(before)
            places = await self._documents.get(service, _ROOT, [])
            if places is not None and places.status == 200:
                found.places, found.converted = _urls(await _read(places)), None
            await self._describe(service, found, legacy=places is not None and places.status == _ABSENT)
            if self._services.get(name) is None:  # it was deleted meanwhile
                return
            self._known[name] = found
        if found is not None and found.digest != before.digest:
            for listener in self._listeners:
                listener()

    async def _describe(self, service: ApiService, known: _Known, *, legacy: bool) -> None:
        """Requests the server's version 2 document, and updates `known` if it has changed.

        `legacy`: the server has no version 3, so the document is converted too.
        """
        asked = [_JSON]
        if known.tag and (known.converted is not None or not legacy):
            asked.append((b"if-none-match", known.tag.encode("latin-1", "replace")))
        answer = await self._documents.get(service, _VERSION_2, asked)
        if answer is not None and answer.status == _ABSENT:
            known.paths, known.definitions, known.tag, known.digest = {}, {}, "", b""
            if legacy:
                known.places, known.converted = {}, None
        if answer is None or answer.status != 200:
            return
        known.tag, digest = answer.header("etag"), hashlib.sha256(answer.body).digest()
        if digest == known.digest and (known.converted is not None or not legacy):
            return
        document = await _read(answer)
        part: Part = await asyncio.to_thread(part_below, f"{service.path}/", document)
        known.paths, known.definitions, known.digest = dict(part.paths), dict(part.definitions), digest
        if legacy:
            place = service.path.strip("/")
            known.converted = await asyncio.to_thread(_converted, document)
            known.places = {} if known.converted is None else {place: known.converted.url(place)}

    # for the routes

    def places(self, served: Collection[str]) -> Mapping[str, str]:
        """See gateway.openapi.others.ExtensionDocuments."""
        return {
            place: url
            for name, known in self._known.items()
            for place, url in known.places.items()
            if place not in served or self._is_of(name, place)
        }

    def _is_of(self, name: str, place: str) -> bool:
        """Whether a document is that of an APIService's own group version."""
        service = self._services.get(name)
        return service is not None and service.path.strip("/") == place

    def converted(self, place: str, served: bool) -> Converted | None:
        """See gateway.openapi.others.ExtensionDocuments."""
        name = self._owner(place, served)
        return None if name is None else self._known[name].converted

    def _owner(self, place: str, served: bool) -> str | None:
        """The name of the APIService whose server has the document of a place.

        If this server has one too (`served`), only an APIService of that very group version counts.
        """
        names = [name for name, known in self._known.items() if place in known.places]
        return next((name for name in names if not served or self._is_of(name, place)), None)

    async def document(self, place: str, query: str, headers: Mapping[str, str], served: bool) -> Document | None:
        """See gateway.openapi.others.ExtensionDocuments."""
        name = self._owner(place, served)
        service = None if name is None else self._services.get(name)
        if service is None or service.service is None:
            return None
        asked = [(key.encode("latin-1"), value.encode("latin-1", "replace")) for key, value in headers.items()]
        answer = await self._documents.get(service, f"{_ROOT}/{place}" + (f"?{query}" if query else ""), asked)
        if answer is None:
            return Document(503, {"content-type": "text/plain; charset=utf-8"}, b"service unavailable\n")
        said = {key.decode("latin-1"): value.decode("latin-1") for key, value in answer.headers}
        kept = ("content-type", "etag", "cache-control", "expires", "vary", "last-modified")
        return Document(answer.status, {key: said[key] for key in kept if key in said}, answer.body)

    def version_2(self) -> list[Part]:
        """The parts of all servers, sorted by the priorities of their APIServices."""

        def rank(name: str) -> tuple[int, int, str]:
            service = self._services.get(name)
            return (0, 0, name) if service is None else (-service.group_priority, -service.version_priority, name)

        known = {name: known for name, known in list(self._known.items()) if known.paths}
        return [Part(known[name].paths, known[name].definitions) for name in sorted(known, key=rank)]


def part_below(prefix: str, document: JsonObject) -> Part:
    """The paths of a version 2 document with a prefix, and its definitions without those that only other paths use."""
    from gateway.openapi.merge import reachable

    said, definitions = _object(document.get("paths")), dict(_object(document.get("definitions")))
    paths = {path: value for path, value in said.items() if path.startswith(prefix)}
    others = {path: value for path, value in said.items() if path not in paths}
    try:
        for name in reachable(Part(others, definitions)) - reachable(Part(paths, definitions)):
            definitions.pop(name, None)
    except ValueError:  # nested too deep: `Merged.add` will log it and leave it out
        pass
    return Part(paths, definitions if paths else {})


def _urls(index: JsonObject) -> dict[str, str]:
    """The URLs by place in a server's version 3 index, at most MOST_PLACES."""
    said = ((place, _object(each).get("serverRelativeURL", "")) for place, each in _object(index.get("paths")).items())
    return dict(islice(((place, url) for place, url in said if isinstance(url, str)), MOST_PLACES))


def _converted(document: JsonObject) -> Converted | None:
    from gateway.openapi.version3_of_2 import version_3_of

    try:
        content = dumps(version_3_of(document))
    except ValueError:
        return None
    return Converted(content, hashlib.sha512(content).hexdigest().upper(), time.time())


async def _read(answer: Reply) -> JsonObject:
    return await read_object_soon(answer.body, LARGEST) or {}


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}
