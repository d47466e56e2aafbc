"""A request as verbs see it, and the response that they return."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gateway.http.deadline import MAXIMUM, timed_out
from gateway.http.escapes import unescaped, valid_escapes
from gateway.http.negotiation import JSON, STANDARD, Negotiator, Representation
from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError, request_too_large
from gateway.http.tunnel import Tunnel
from gateway.http.user import User
from gateway.http.warnings import Warnings
from gateway.jsontypes import JsonObject

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Header = tuple[bytes, bytes]

JSON_TYPE = b"application/json"
TEXT_TYPE = b"text/plain; charset=utf-8"
MAX_BODY = 3 * 1024 * 1024
MAX_PARAMETERS = 10_000  # of a query; Go's net/url reads none of more

_NO_QUERY: dict[str, list[str]] = {}
_NO_SCOPE: Mapping[str, Any] = {}


class ClientDisconnected(Exception):
    """The client went away before its request's body was complete."""


class Aborted(Exception):
    """A streamed answer can't go on: its connection ends, so that no client takes a part for the whole."""


class Reset(Exception):
    """A streamed answer ends with its connection reset, as by a machine that has forgotten it."""


class Audited(Protocol):
    """What is recorded of a request, where an audit policy asks for that."""

    def requested(self, obj: JsonObject) -> None:
        """Takes the object of the request, before anything is done to it."""
        ...

    def patching(self, read: Callable[[], Any]) -> None:
        """Takes what parses the request's patch, as the request does; it may come to that, or not."""
        ...

    def patched(self, value: Any) -> None:
        """Takes what the request's parser made of its patch, before anything is done to it."""
        ...

    def answered(self, response: Response) -> None:
        """Takes the answer before its representation is made; may listen to a streamed one."""
        ...

    def annotate(self, key: str, value: str, detail: bool = False) -> None:
        """Adds an annotation; a `detail` only where objects are recorded."""
        ...


class Request:
    """One HTTP request. `headers` holds the first value of each header, names in lower case.

    `representation` is what the Accept header was negotiated to, of what `media` has; `warnings`
    become Warning headers of the answer.
    """

    __slots__ = (
        "_body",
        "_query",
        "audit",
        "audit_id",
        "body_seconds",
        "flow_headers",
        "headers",
        "human",
        "info",
        "media",
        "method",
        "path",
        "query_string",
        "receive",
        "received",
        "representation",
        "scope",
        "user",
        "warnings",
    )

    body_seconds: float  # in which its body has to come, where that is said

    def __init__(
        self,
        method: str,
        path: str,
        query_string: bytes,
        headers: dict[bytes, bytes],
        receive: Receive,
    ) -> None:
        self.method, self.path, self.query_string = method, path, query_string
        self.headers, self.receive = headers, receive
        self.media: Negotiator = STANDARD
        self.info: RequestInfo
        self.user: User
        self.representation: Representation = JSON
        self.human = False  # wants indented JSON
        self.warnings = Warnings()
        self.flow_headers: tuple[Header, ...] = ()  # which of the flows of "API Priority and Fairness" it is of
        self.audit: Audited | None = None
        self.audit_id = b""  # where it is known before the answer is
        self.received = ""  # when, where that is to be recorded
        self.scope: Mapping[str, Any] = _NO_SCOPE  # what the connection says of it: all headers, the client, extensions
        self._query: dict[str, list[str]] | None = None if query_string else _NO_QUERY
        self._body: bytes | None = None

    @property
    def query(self) -> dict[str, list[str]]:
        """The query's parameters, each with all its values in order; parsed on first use."""
        if self._query is None:
            self._query = parse_query(self.query_string)
        return self._query

    def adopt_query(self, query: dict[str, list[str]]) -> None:
        """Takes over the parameters of an earlier request with the same query; nobody may change them."""
        self._query = query

    def parameter(self, name: str, default: str = "") -> str:
        """The first value of a query parameter."""
        values = self.query.get(name)
        return values[0] if values else default

    @property
    def read_body(self) -> bytes | None:
        """The body, if anybody has read it."""
        return self._body

    async def body(self, limit: int = MAX_BODY) -> bytes:
        """The whole body; raises ClientDisconnected when it is cut, StatusError 413 when it exceeds `limit` bytes, 504
        when it takes longer than a request may.
        """
        if self._body is None:
            self._body = await self._read_body(limit)
        return self._body

    async def _read_body(self, limit: int) -> bytes:
        chunk, more = await self._read_chunk()
        if len(chunk) > limit:
            raise body_too_large(limit)
        if not more:
            return chunk
        chunks, size = [chunk], len(chunk)
        try:
            async with asyncio.timeout(getattr(self, "body_seconds", MAXIMUM)):
                while more:
                    chunk, more = await self._read_chunk()
                    size += len(chunk)
                    if size > limit:
                        raise body_too_large(limit)
                    chunks.append(chunk)
        except TimeoutError:
            raise timed_out() from None
        return b"".join(chunks)

    async def _read_chunk(self) -> tuple[bytes, bool]:
        """What has come of the body, and whether there is more."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        return message.get("body", b""), message.get("more_body", False)

    async def disconnected(self) -> None:
        """Returns when the client has closed the connection (or the response is complete). Read the body first."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


def body_too_large(limit: int) -> StatusError:
    """413 for a body of more than `limit` bytes."""
    error = request_too_large(f"Request entity too large: limit is {limit}")
    error.headers = ((b"connection", b"close"),)
    return error


def parse_query(query_string: bytes) -> dict[str, list[str]]:
    """Parses a query as Go's net/url: blank values stay, a pair with a semicolon or a bad escape is dropped.

    A query of too many pairs counts as empty.
    """
    query: dict[str, list[str]] = {}
    if query_string.count(b"&") >= MAX_PARAMETERS:
        return query
    sound = valid_escapes(query_string)
    for pair in query_string.decode("utf-8", "replace").split("&"):
        if not pair or ";" in pair or not (sound or valid_escapes(pair.encode())):
            continue
        name, _, value = pair.partition("=")
        query.setdefault(_unquote(name), []).append(_unquote(value))
    return query


def _unquote(text: str) -> str:
    return unescaped(text.replace("+", " ").encode()) if "%" in text or "+" in text else text


@dataclass(slots=True)
class Response:
    """An answer. `body` is bytes, chunks sent one after the other with a content-length, or an async iterator
    streamed for as long as it gives chunks (a watch). With status 101 it is the head of a `tunnel`. Headers that every
    answer carries are added on sending. An answer without a body (304) has the content type b"", and no such header.

    JSON that is not `encoded` yet, an object of the endpoint's kind or a Status, is brought into the representation
    that the client asked for.
    """

    status: int
    body: bytes | Sequence[bytes] | AsyncIterator[bytes] = b""
    content_type: bytes = JSON_TYPE
    headers: list[Header] = field(default_factory=list)
    cache_control: bytes = b"no-cache, private"
    encoded: bool = False
    tunnel: Tunnel | None = None
    bare: bool = False  # it has no headers but its own
    finite: bool = False  # of a stream: it ends by itself, as what is made while it is sent
