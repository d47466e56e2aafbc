"""Requests to extension API servers for their objects: metadata, patches, deletions, lists and watches.

They are like those of kube-controller-manager's metadata client through kube-aggregator. The user is the controller's,
and responses are PartialObjectMetadata ("Receiving resources as PartialObjectMetadata").
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import quote, urlencode

from gateway.aggregation.identity import on_behalf_of
from gateway.aggregation.services import ApiServices
from gateway.endpoints.foreign import ForeignError, ForeignKind
from gateway.http.user import User
from gateway.jsontypes import JsonObject, dumps
from gateway.outbound.client import Client, Reply, Streamed
from gateway.outbound.errors import CallError
from gateway.outbound.identity import ClientIdentity
from gateway.outbound.request import OutboundRequest
from gateway.outbound.services import NoAddress, ServiceAddresses
from gateway.outbound.target import Target
from gateway.schema.outside import read_object_soon
from gateway.webhooks.refusals import refusal
from storage.time_slice import TimeSlice

TIMEOUT = 10.0  # seconds for one request; a server that hangs soon loses the condition Available
PAGE = 500  # objects of a page, as in client-go
PAGES = 4000  # the most pages of a list
LARGEST = 16 << 20  # bytes of a response
LONGEST = 4 << 20  # bytes of one watch event
WATCH = 300  # the timeoutSeconds of a watch
_JSON = "application/json"
_PARTIAL = f"{_JSON};as=PartialObjectMetadata{{}};g=meta.k8s.io;v=v1,{_JSON}"
_NAMELESS = "an object has no name that a path can have"
_ABSENT, _NOT_SO, _GONE = 404, 405, 410


class Expired(ForeignError):
    """The resourceVersion of a watch or the continue token of a page is too old: all objects must be listed again."""


class Unsupported(ForeignError):
    """A server does not support an operation for a kind, although its discovery may list the verb."""


class Nameless(ForeignError):
    """An object's name can't be in a path, so it can't be requested."""


class MetadataPage(NamedTuple):
    """A page of a list: the objects' metadata, the list's resourceVersion, and the continue token ("" at the end)."""

    items: list[JsonObject]
    version: str
    goes_on: str
    nameless: int = 0  # the number of objects with names that can't be in a path; they are left out


class ForeignEvent(NamedTuple):
    """A watch event. `metadata` is None for a bookmark, and for an object whose name can't be in a path."""

    type: str
    metadata: JsonObject | None
    version: str


class ObjectClient:
    """Makes the requests. All methods raise ForeignError, and at once if the APIService is not Available."""

    def __init__(
        self, services: ApiServices, client: Client, addresses: ServiceAddresses, identity: ClientIdentity
    ) -> None:
        self._services, self._client, self._addresses, self._identity = services, client, addresses, identity

    async def metadata(self, kind: ForeignKind, namespace: str, name: str, user: User) -> JsonObject | None:
        """The metadata of an object; None if it does not exist."""
        answer = await self._call(kind, _request("GET", _path(kind, namespace, name), user))
        return None if answer is None else metadata_of(await _object(answer.body), kind)

    async def patch(self, kind: ForeignKind, namespace: str, name: str, metadata: JsonObject, user: User) -> bool:
        """Merges fields into an object's metadata (merge patch). Returns whether the object exists."""
        path, body = _path(kind, namespace, name), dumps({"metadata": metadata})
        request = _request("PATCH", path, user, body, b"application/merge-patch+json")
        return await self._call(kind, request) is not None

    async def delete(self, kind: ForeignKind, namespace: str, name: str, options: JsonObject, user: User) -> bool:
        """Deletes an object. Returns whether it existed."""
        body = dumps({"kind": "DeleteOptions", "apiVersion": "v1", **options})
        return await self._call(kind, _request("DELETE", _path(kind, namespace, name), user, body)) is not None

    async def delete_all(self, kind: ForeignKind, namespace: str, options: JsonObject, user: User) -> None:
        """Deletes all objects of a kind in a namespace. Raises Unsupported too."""
        body = dumps({"kind": "DeleteOptions", "apiVersion": "v1", **options})
        if await self._call(kind, _request("DELETE", _path(kind, namespace), user, body)) is None:
            raise Unsupported("there is no collection")

    async def page(self, kind: ForeignKind, user: User, goes_on: str, namespace: str = "") -> MetadataPage:
        """A page of the objects of a kind, in all namespaces or in one. `goes_on`: the continue token, or "".

        Raises Unsupported too.
        """
        query = {"limit": str(PAGE), **({"continue": goes_on} if goes_on else {})}
        path = f"{_path(kind, namespace)}?{urlencode(query)}"
        answer = await self._call(kind, _request("GET", path, user, accept="List"))
        if answer is None:
            raise Unsupported("there is no list")
        found = await _object(answer.body)
        listed, items = found.get("metadata"), found.get("items")
        listed = listed if isinstance(listed, dict) else {}
        known, nameless, piece = list[JsonObject](), 0, TimeSlice()
        for each in items if isinstance(items, list) else ():
            try:
                if isinstance(each, dict):
                    known.append(metadata_of(each, kind))
            except Nameless:
                nameless += 1
            if piece.over():
                await piece.next()
        return MetadataPage(known, _text(listed, "resourceVersion"), _text(listed, "continue"), nameless)

    async def each(self, kind: ForeignKind, user: User, namespace: str) -> AsyncIterator[JsonObject]:
        """The metadata of all objects of a kind in a namespace. Raises Unsupported, Nameless too."""
        goes_on = ""
        for _ in range(PAGES):
            page = await self.page(kind, user, goes_on, namespace)
            if page.nameless:
                raise Nameless(_NAMELESS)
            for each in page.items:
                yield each
            goes_on = page.goes_on
            if not goes_on:
                return
        raise ForeignError("the list has no end")

    async def watch(self, kind: ForeignKind, user: User, version: str) -> AsyncIterator[ForeignEvent]:
        """The changes after a resourceVersion, until the server ends the watch.

        Raises ForeignError if the server does not end it in time.
        """
        query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": str(WATCH)}
        request = _request("GET", f"{_path(kind)}?{urlencode(query)}", user)
        with _foreign_errors():
            async with asyncio.timeout(WATCH + TIMEOUT):
                streamed = await self._client.stream(self._target(kind), request, TIMEOUT)
                try:
                    if streamed.status != 200:
                        raise _refused(streamed.status, await streamed.whole(LARGEST))
                    async for line in _lines(streamed):
                        yield await _event(line, kind)
                finally:
                    await streamed.aclose()

    async def _call(self, kind: ForeignKind, request: OutboundRequest) -> Reply | None:
        """The response of the server; None for 404. Raises Unsupported for 405, Expired for 410."""
        with _foreign_errors():
            answer = await self._client.call(self._target(kind), request, TIMEOUT, LARGEST)
        if answer.status == _ABSENT:
            return None
        if answer.status == _NOT_SO:
            raise Unsupported(refusal(answer.status, answer.body))
        if answer.status >= 300:
            raise _refused(answer.status, answer.body)
        return answer

    def _target(self, kind: ForeignKind) -> Target:
        service = self._services.remote.get((kind.group, kind.version))
        if service is None or not service.available:
            raise ForeignError("service unavailable")
        return service.target(self._addresses, self._identity)


@contextmanager
def _foreign_errors() -> Iterator[None]:
    """Turns the errors of a call into ForeignError."""
    try:
        yield
    except (CallError, NoAddress, OSError, ValueError) as error:  # a TimeoutError is an OSError
        raise ForeignError(str(error) or type(error).__name__) from error


def _refused(status: int, body: bytes) -> ForeignError:
    text = refusal(status, body)
    return Expired(text) if status == _GONE else ForeignError(text)


def _request(
    method: str,
    path: str,
    user: User,
    body: bytes = b"",
    content: bytes = b"application/json",
    accept: str = "",
) -> OutboundRequest:
    # a deletecollection may be answered by a list: servers would refuse PartialObjectMetadata for it with 406
    wanted = _JSON if method == "DELETE" else _PARTIAL.format(accept)
    headers = [*on_behalf_of(user), (b"accept", wanted.encode())]
    if body:
        headers.append((b"content-type", content))
    return OutboundRequest(method, path, headers, body)


def _path(kind: ForeignKind, namespace: str = "", name: str = "") -> str:
    place = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"/apis/{kind.group}/{kind.version}{place}/{kind.resource}" + (f"/{quote(name, safe='')}" if name else "")


async def _lines(streamed: Streamed) -> AsyncIterator[bytearray]:
    rest = bytearray()  # a long line may come in very many parts
    async for part in streamed:
        rest += part
        if b"\n" in part:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                if line.strip():
                    yield line
        if len(rest) > LONGEST:
            raise ForeignError(f"an event is larger than {LONGEST} bytes")


async def _event(line: bytes | bytearray, kind: ForeignKind) -> ForeignEvent:
    event = await _object(line)
    said, obj = event.get("type"), event.get("object")
    if said == "ERROR" or not isinstance(obj, dict) or not isinstance(said, str):
        raise Expired("the watch told of an error")
    metadata = obj.get("metadata")
    version = _text(metadata, "resourceVersion") if isinstance(metadata, dict) else ""
    try:
        return ForeignEvent(said, None if said == "BOOKMARK" else metadata_of(obj, kind), version)
    except Nameless:
        return ForeignEvent(said, None, version)


async def _object(body: bytes | bytearray) -> JsonObject:
    found = await read_object_soon(body)
    if found is None:
        raise ForeignError("the answer is not an object")
    return found


def metadata_of(obj: JsonObject, kind: ForeignKind) -> JsonObject:
    """The needed members of an object's metadata. Members with wrong types are dropped. Raises Nameless."""
    given = obj.get("metadata")
    given = given if isinstance(given, dict) else {}
    name, namespace = _text(given, "name"), _text(given, "namespace")
    if not is_segment(name) or (not is_segment(namespace) if kind.namespaced else namespace):
        raise Nameless(_NAMELESS)
    found: JsonObject = {"name": name, **({"namespace": namespace} if namespace else {}), "uid": _text(given, "uid")}
    found |= {key: _text(given, key) for key in ("resourceVersion", "deletionTimestamp") if _text(given, key)}
    owners, finalizers = given.get("ownerReferences"), given.get("finalizers")
    if isinstance(owners, list) and owners:
        found["ownerReferences"] = [_owner(each) for each in owners if isinstance(each, dict)]
    if isinstance(finalizers, list) and finalizers:
        found["finalizers"] = [each for each in finalizers if isinstance(each, str)]
    return found


def _owner(given: JsonObject) -> JsonObject:
    texts = {key: _text(given, key) for key in ("apiVersion", "kind", "name", "uid")}
    flags = {key: given[key] for key in ("controller", "blockOwnerDeletion") if isinstance(given.get(key), bool)}
    return {**texts, **flags}


def _text(given: JsonObject, key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""


def is_segment(text: str) -> bool:
    """Whether a text can be one segment of a URL path."""
    return bool(text) and "/" not in text and text not in (".", "..")
