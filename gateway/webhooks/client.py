"""Calls a webhook by its client configuration, and reads its answer.

A WebhookClientConfig names a URL or a service, and a CA bundle ("Contacting the webhook").
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from posixpath import normpath
from time import monotonic
from typing import TypeVar
from urllib.parse import quote, unquote, urljoin, urlsplit

from gateway.jsontypes import JsonObject
from gateway.memo import Memory
from gateway.outbound.client import LARGEST, Client, Reply
from gateway.outbound.errors import CallError, deadline_exceeded
from gateway.outbound.request import Header, OutboundRequest
from gateway.outbound.services import NoAddress, ServiceAddresses
from gateway.outbound.target import Target
from gateway.outbound.trust import CONTEXT, TlsContext, context_of
from gateway.schema.errors import DecodeError
from gateway.schema.outside import parsed_soon, read_json
from gateway.webhooks.refusals import refusal

T = TypeVar("T")

TIMEOUT = 30.0  # seconds
_REDIRECTS, _MOST_REDIRECTS = (301, 302, 303, 307, 308), 10
_RETRIED, _MOST_RETRIES = 429, 10  # beside 5xx, the status after which Retry-After is obeyed
_SECONDS = re.compile("[+-]?[0-9]{1,18}", re.ASCII)
_KEEPING = (307, 308)  # redirects that keep the method and the body; others become a GET
_CUT = "unexpected error when reading response body. Please retry. Original error"
_HEADERS: tuple[Header, ...] = ((b"content-type", b"application/json"), (b"accept", b"application/json, */*"))


class WebhookError(Exception):
    """A webhook could not be called, or its answer is not a success or cannot be read; the message says why.

    `late`: the deadline came before an answer. `reached`: it answered.
    """

    def __init__(self, message: str, *, late: bool = False, reached: bool = False) -> None:
        super().__init__(message)
        self.late, self.reached = late, reached


@dataclass(frozen=True, slots=True)
class WebhookCredentials:
    """The credentials for a webhook: a client certificate with its key (PEM), and the Authorization header's value."""

    certificate: bytes = b""
    key: bytes = b""
    authorization: str = ""


ANONYMOUS = WebhookCredentials()

Identify = Callable[[str, int], WebhookCredentials]
"""Returns the credentials for a host and port."""


def nobody(host: str, port: int) -> WebhookCredentials:
    """The `Identify` without credentials for any host."""
    return ANONYMOUS


@dataclass(frozen=True, slots=True)
class WebhookAddress:
    """Where a webhook is: the target of the connection, the path, the URL for messages, and the credentials."""

    target: Target
    path: str
    url: str
    identity: WebhookCredentials


class Webhooks:
    """Calls webhooks, with one HTTP client for all of them."""

    def __init__(self, client: Client, services: ServiceAddresses, identify: Identify = nobody) -> None:
        self._client, self._services, self._identify = client, services, identify

    def identified(self, identify: Identify) -> Webhooks:
        """The same client with credentials, which `identify` chooses by host and port."""
        return Webhooks(self._client, self._services, identify)

    async def review(
        self,
        config: JsonObject,
        review: bytes,
        understand: Callable[[JsonObject], T],
        timeout: float = TIMEOUT,
        headers: tuple[Header, ...] = (),
        largest: int = LARGEST,
    ) -> T:
        """Posts a review, as JSON, to a webhook. Returns what `understand` makes of the JSON object of its answer: in a
        thread if the answer is long.

        The other parameters are those of `post`. Raises WebhookError, and what `understand` raises.
        """
        answered = await self.ask(config, review, timeout, headers, largest)
        return await parsed_soon(lambda answer: understand(_object(answer, largest)), answered)

    async def ask(
        self,
        config: JsonObject,
        review: bytes,
        timeout: float = TIMEOUT,
        headers: tuple[Header, ...] = (),
        largest: int = LARGEST,
    ) -> bytes:
        """Posts a review to a webhook. Returns the body of its answer; the parameters are those of `post`.

        Raises WebhookError, also for a status that is not a success and for an empty body.
        """
        answer = await self.post(config, review, timeout, headers, largest)
        if not 200 <= answer.status <= 206:
            raise WebhookError(refusal(answer.status, answer.body, answer.header("content-type")), reached=True)
        if not answer.body:
            kind = answer.header("content-type") or "application/json"
            told = f"0-length response with status code: {answer.status} and content type: {kind}"
            raise WebhookError(told, reached=True)
        return answer.body

    async def post(
        self,
        config: JsonObject,
        body: bytes,
        timeout: float = TIMEOUT,
        headers: tuple[Header, ...] = (),
        largest: int = LARGEST,
    ) -> Reply:
        """Posts JSON to a webhook, and returns its answer, whatever the status. Raises WebhookError.

        `timeout` is in seconds, and is sent in the query. `headers` are sent beside the content types. An answer of
        more than `largest` bytes is an error. An answer with Retry-After (429, 5xx) has the request sent again.
        """
        query = f"timeout={ceil(timeout)}s"
        try:
            place = self._place(config, query)
            if place.identity.authorization:
                headers = (*headers, (b"authorization", place.identity.authorization.encode()))
            asked = OutboundRequest("POST", place.path, (*_HEADERS, *headers), body, repeatable=True)
        except ValueError as error:
            raise WebhookError(str(error)) from None
        try:
            return await self._answered(place, asked, monotonic() + timeout, largest)
        except CallError as error:
            what = f'Post "{place.url}"' if not error.cut else _CUT
            raise WebhookError(f"{what}: {error}", late=error.late) from None

    def url(self, config: JsonObject, timeout: float = TIMEOUT) -> str:
        """The URL by which messages name a webhook."""
        try:
            return self._place(config, f"timeout={ceil(timeout)}s").url
        except (WebhookError, ValueError):
            return str(config.get("url", ""))

    async def _answered(self, place: WebhookAddress, asked: OutboundRequest, deadline: float, largest: int) -> Reply:
        """The answer. After one with Retry-After, waits and sends the request again, as client-go's rest.Request does.

        Raises CallError, at once if the wait would end after the deadline.
        """
        for _ in range(_MOST_RETRIES):
            answer = await self._followed(place, asked, deadline, largest)
            seconds = _retry_after(answer)
            if seconds is None:
                return answer
            if monotonic() + seconds >= deadline:
                raise deadline_exceeded()
            await asyncio.sleep(seconds)
        return await self._followed(place, asked, deadline, largest)

    async def _followed(self, place: WebhookAddress, asked: OutboundRequest, deadline: float, largest: int) -> Reply:
        """The answer, after redirects to other paths of the same server, as Go's servers send them for //path.

        A redirect to another server is not followed: no object is sent there. Raises CallError.
        """
        for _ in range(_MOST_REDIRECTS):
            answer = await self._client.call(place.target, asked, max(deadline - monotonic(), 0.0), largest)
            if answer.status not in _REDIRECTS:
                return answer
            path = _path_here(answer.header("location"), place)
            if not path:
                return answer
            asked = replace(asked, path=path)
            if answer.status not in _KEEPING:
                headers = tuple(each for each in asked.headers if each[0] != b"content-type")
                asked = replace(asked, method="GET", headers=headers, body=b"")
        raise CallError(f"stopped after {_MOST_REDIRECTS} redirects")

    def _place(self, config: JsonObject, query: str) -> WebhookAddress:
        """The place that a client configuration names. Raises WebhookError, ValueError for an unusable CA bundle."""
        bundle = config.get("caBundle") or ""
        if url := config.get("url"):
            parts = urlsplit(url)
            identity = self._identify(parts.hostname or "", parts.port or 443)
            path = _cleaned(unquote(parts.path)) + (f"?{parts.query}&{query}" if parts.query else f"?{query}")
            shown = f"{parts.scheme}://{parts.netloc}{path}"
            authority, context = parts.netloc.rpartition("@")[2], _trusting(bundle, identity)
            target = Target(parts.hostname or "", parts.port or 443, context, authority=authority)
            return WebhookAddress(target, path, shown, identity)
        service = config.get("service") or {}
        namespace, name, port = service.get("namespace", ""), service.get("name", ""), service.get("port") or 443
        path = _cleaned(service.get("path") or "") + f"?{query}"
        known = f"{name}.{namespace}.svc"
        url = f"https://{known}:{port}{path}"
        try:
            host, at = self._services.address(namespace, name, port)
        except NoAddress as error:
            raise WebhookError(f'Post "{url}": {error}') from None
        identity = self._identify(known, port)
        context = _trusting(bundle, identity)
        return WebhookAddress(Target(host, at, context, known, f"{known}:{port}"), path, url, identity)


def _object(answer: bytes, largest: int) -> JsonObject:
    try:
        found = read_json(answer, largest)
    except DecodeError:
        found = None
    if not isinstance(found, dict):
        told = "couldn't get version/kind; json parse error: the answer is not a JSON object"
        raise WebhookError(told, reached=True)
    return found


def _cleaned(path: str) -> str:
    """A path as client-go cleans it: without empty or relative segments, and without a slash at its end."""
    return quote(normpath("/" + path.lstrip("/")), safe="/$&+,:;=@")


def _retry_after(answer: Reply) -> int | None:
    """The seconds of Retry-After, after which to send the request again; None if the answer is final."""
    if answer.status != _RETRIED and answer.status < 500:
        return None
    text = answer.header("retry-after")
    return max(int(text), 0) if _SECONDS.fullmatch(text) else None


def _path_here(location: str, place: WebhookAddress) -> str:
    """The path and query of a redirect to the same server, "" for one to another."""
    try:
        parts, own = urlsplit(urljoin(place.url, location)), urlsplit(place.url)
    except ValueError:
        return ""
    if not location or (parts.scheme, parts.netloc) != (own.scheme, own.netloc):
        return ""
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


_contexts: Memory[tuple[str, WebhookCredentials], TlsContext] = Memory(32 << 20, 8 << 20)


def _trusting(bundle: str, identity: WebhookCredentials) -> TlsContext:
    found = _contexts.get((bundle, identity))
    if found is None:
        trusted = base64.b64decode(bundle).decode("ascii", "replace")
        found = context_of(trusted, identity.certificate, identity.key)
        _contexts.keep((bundle, identity), found, 4 * len(bundle) + CONTEXT)
    return found
