"""Request and Response: the input and the result of the handlers of verbs."""

from __future__ import annotations

import asyncio
import random
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
MAX_PARAMETERS = 10_000  # a query with more counts as empty, as in Go's net/url

_NO_QUERY: dict[str, list[str]] = {}
_NO_SCOPE: Mapping[str, Any] = {}


class ClientDisconnected(Exception):
    """The client closed the connection before the request's body was complete."""


class Aborted(Exception):
    """A streamed answer cannot continue. The connection is closed, so that the client sees that the answer is
    incomplete.
    """


class Reset(Exception):
    """A streamed answer ends with a TCP reset of its connection."""


class Audited(Protocol):
    """The audit record of a request, if the audit policy records it."""

    def requested(self, obj: JsonObject) -> None:
        """Records the object of the request, before it is changed."""
        ...

    def patching(self, read: Callable[[], Any]) -> None:
        """Takes a function that parses the request's patch. It is used only if the request ends before it has parsed
        the patch, for example because the object does not exist.
        """
        ...

    def patched(self, value: Any) -> None:
        """Records the request's patch as it was parsed, before it is changed."""
        ...

    def answered(self, response: Response) -> None:
        """Records the answer before it is encoded; may wrap the body of a streamed answer."""
        ...

    def annotate(self, key: str, value: str, detail: bool = False) -> None:
        """Adds an annotation; with `detail`, only if the audit level records objects."""
        ...


class Request:
    """One HTTP request. `headers` maps names, in lower case, to the first value of each header.

    `representation` is the result of content negotiation between the Accept header and `media`. `warnings` become
    Warning headers of the answer.
    """

    __slots__ = (
        "_audit_id",
        "_body",
        "_query",
        "audit",
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

    body_seconds: float  # the time limit of the body; MAXIMUM if it is not set

    def __init__(
        self,
        method: str,
        path: str,
        query_string: bytes,
        headers: dict[bytes, bytes],
        receive: Receive,
        media: Negotiator = STANDARD,
    ) -> None:
        """`media` negotiates errors until the route is known."""
        self.method, self.path, self.query_string = method, path, query_string
        self.headers, self.receive = headers, receive
        self.media = media
        self.info: RequestInfo
        self.user: User
        self.representation: Representation = JSON
        self.human = False  # whether the client wants indented JSON
        self.warnings = Warnings()
        self.flow_headers: tuple[Header, ...] = ()  # the answer's headers with the UIDs of "API Priority and Fairness"
        self.audit: Audited | None = None
        self._audit_id = b""
        self.received = ""  # the time of arrival, if it is to be recorded
        self.scope: Mapping[str, Any] = _NO_SCOPE  # the ASGI scope: all headers, the client's address, extensions
        self._query: dict[str, list[str]] | None = None if query_string else _NO_QUERY
        self._body: bytes | None = None

    @property
    def audit_id(self) -> bytes:
        """The Audit-ID header; a random UUID without one."""
        if not self._audit_id:
            self._audit_id = audit_id(self.headers)
        return self._audit_id

    @property
    def query(self) -> dict[str, list[str]]:
        """The query's parameters, each with all its values in order; parsed on first use."""
        if self._query is None:
            self._query = parse_query(self.query_string)
        return self._query

    def adopt_query(self, query: dict[str, list[str]]) -> None:
        """Shares the parsed parameters of an earlier request with the same query; they must not be changed."""
        self._query = query

    def parameter(self, name: str, default: str = "") -> str:
        """The first value of a query parameter, or `default`."""
        values = self.query.get(name)
        return values[0] if values else default

    @property
    def read_body(self) -> bytes | None:
        """The body, if it has been read; None otherwise."""
        return self._body

    async def body(self, limit: int = MAX_BODY) -> bytes:
        """The whole body. Raises ClientDisconnected if the connection ends before it is complete, StatusError 413 if it
        has more than `limit` bytes, 504 if it takes longer than `body_seconds`.
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
        """The next part of the body, and whether more parts follow."""
        message = await self.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        return message.get("body", b""), message.get("more_body", False)

    async def disconnected(self) -> None:
        """Returns when the client has closed the connection (or the response is complete). Read the body first."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


def audit_id(headers: Mapping[bytes, bytes]) -> bytes:
    """The Audit-ID header; a random UUID without one."""
    given = headers.get(b"audit-id")
    if given:
        return given
    digits = b"%032x" % random.getrandbits(128)
    return b"%b-%b-4%b-a%b-%b" % (digits[:8], digits[8:12], digits[13:16], digits[17:20], digits[20:])


def body_too_large(limit: int) -> StatusError:
    """The error 413 for a body of more than `limit` bytes; the connection is closed after it."""
    error = request_too_large(f"Request entity too large: limit is {limit}")
    error.headers = ((b"connection", b"close"),)
    return error


def parse_query(query_string: bytes) -> dict[str, list[str]]:
    """Parses a query like Go's net/url: empty values are kept, a pair with a semicolon or an invalid escape is dropped.

    A query of more than MAX_PARAMETERS pairs counts as empty.
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
    """An answer. `body` is bytes, or a sequence of chunks sent with a Content-Length, or an async iterator that is
    streamed until it ends (a watch). With status 101 the response is the head of a `tunnel`.

    Headers that every answer has are added on sending. An answer without a body (304) has the content type b"", and no
    Content-Type header. If `encoded` is False, the body is JSON of an object of the endpoint's kind or of a Status, and
    is converted to the representation that the client asked for.
    """

    status: int
    body: bytes | Sequence[bytes] | AsyncIterator[bytes] = b""
    content_type: bytes = JSON_TYPE
    headers: list[Header] = field(default_factory=list)
    cache_control: bytes = b"no-cache, private"
    encoded: bool = False
    tunnel: Tunnel | None = None
    bare: bool = False  # no other headers are added
    finite: bool = False  # a stream that ends by itself, unlike a watch
