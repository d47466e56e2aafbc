"""A request as verbs see it, and the response that they return."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote_plus

from gateway.http.negotiation import JSON, Representation
from gateway.http.request_info import RequestInfo
from gateway.http.status import StatusError, request_too_large
from gateway.http.user import User

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Header = tuple[bytes, bytes]

JSON_TYPE = b"application/json"
TEXT_TYPE = b"text/plain; charset=utf-8"
MAX_BODY = 3 * 1024 * 1024

_NO_QUERY: dict[str, list[str]] = {}


class ClientDisconnected(Exception):
    """The client went away before its request's body was complete."""


class Request:
    """One HTTP request. `headers` holds the first value of each header, names in lower case.

    `representation` is what the Accept header was negotiated to; `warnings` become Warning headers of the answer.
    """

    __slots__ = (
        "_body",
        "_query",
        "headers",
        "human",
        "info",
        "method",
        "path",
        "query_string",
        "receive",
        "representation",
        "user",
        "warnings",
    )

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
        self.info: RequestInfo
        self.user: User
        self.representation: Representation = JSON
        self.human = False  # wants indented JSON
        self.warnings: list[str] = []
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

    async def body(self, limit: int = MAX_BODY) -> bytes:
        """The whole body; raises StatusError 413 when it exceeds `limit` bytes, ClientDisconnected when it is cut."""
        if self._body is None:
            self._body = await self._read_body(limit)
        return self._body

    async def _read_body(self, limit: int) -> bytes:
        chunks: list[bytes] = []
        size, more = 0, True
        while more:
            message = await self.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            chunk = message.get("body", b"")
            more = message.get("more_body", False)
            size += len(chunk)
            if size > limit:
                raise body_too_large(limit)
            chunks.append(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    async def disconnected(self) -> None:
        """Returns when the client has closed the connection (or the response is complete). Read the body first."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


def body_too_large(limit: int) -> StatusError:
    """413 for a body of more than `limit` bytes."""
    return request_too_large(f"Request entity too large: limit is {limit}")


def parse_query(query_string: bytes) -> dict[str, list[str]]:
    """Parses a query as Go's net/url: blank values stay, a pair with a semicolon or a bad escape is dropped."""
    query: dict[str, list[str]] = {}
    for pair in query_string.decode("latin-1").split("&"):
        if not pair or ";" in pair or ("%" in pair and not valid_escapes(pair)):
            continue
        name, _, value = pair.partition("=")
        query.setdefault(_unquote(name), []).append(_unquote(value))
    return query


def valid_escapes(text: str) -> bool:
    """Whether every % is followed by two hexadecimal digits."""
    return all(len(rest) >= 2 and rest[0] in _HEX and rest[1] in _HEX for rest in text.split("%")[1:])


_HEX = frozenset("0123456789abcdefABCDEF")


def _unquote(text: str) -> str:
    return unquote_plus(text) if "%" in text or "+" in text else text


@dataclass(slots=True)
class Response:
    """An answer. `body` is bytes, chunks sent one after the other with a content-length, or an async iterator
    streamed for as long as it gives chunks (a watch). Headers that every answer carries are added on sending. An answer
    without a body (304) has the content type b"", and no such header.

    JSON that is not `encoded` yet, an object of the endpoint's kind or a Status, is brought into the representation
    that the client asked for.
    """

    status: int
    body: bytes | Sequence[bytes] | AsyncIterator[bytes] = b""
    content_type: bytes = JSON_TYPE
    headers: list[Header] = field(default_factory=list)
    cache_control: bytes = b"no-cache, private"
    encoded: bool = False
