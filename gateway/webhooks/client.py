"""Calling a webhook: where a client configuration leads, whom it trusts, and what comes back.

A WebhookClientConfig names a URL or a service, and a CA bundle ("Contacting the webhook").
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from urllib.parse import urlsplit

from gateway.jsontypes import JsonObject, loads
from gateway.outbound.client import LARGEST, Answer, Client
from gateway.outbound.errors import CallError
from gateway.outbound.request import Header, OutboundRequest
from gateway.outbound.services import NoAddress, ServiceAddresses
from gateway.outbound.target import Target
from gateway.outbound.trust import Context, context_of
from gateway.webhooks.refusals import refusal

TIMEOUT = 30.0  # seconds
_HEADERS: tuple[Header, ...] = ((b"content-type", b"application/json"), (b"accept", b"application/json, */*"))


class WebhookError(Exception):
    """A webhook could not be asked, or gave no answer that can be read; the message says why.

    `late` if it had no time to answer; `reached` if it answered.
    """

    def __init__(self, message: str, *, late: bool = False, reached: bool = False) -> None:
        super().__init__(message)
        self.late, self.reached = late, reached


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom a webhook is called: a certificate with its key, PEM, and the value of the Authorization header."""

    certificate: bytes = b""
    key: bytes = b""
    authorization: str = ""


ANONYMOUS = Identity()

Identify = Callable[[str, int], Identity]
"""As whom a host and port is called."""


def nobody(host: str, port: int) -> Identity:
    """Calls nobody as anybody."""
    return ANONYMOUS


@dataclass(frozen=True, slots=True)
class Place:
    """Where a webhook is: whom to call, the path, the URL as messages have it, and as whom it is called."""

    target: Target
    path: str
    url: str
    identity: Identity


class Webhooks:
    """Calls webhooks, by one client for all of them."""

    def __init__(self, client: Client, services: ServiceAddresses, identify: Identify = nobody) -> None:
        self._client, self._services, self._identify = client, services, identify

    def identified(self, identify: Identify) -> Webhooks:
        """The same for those that are called as somebody."""
        return Webhooks(self._client, self._services, identify)

    async def review(
        self,
        config: JsonObject,
        review: bytes,
        timeout: float = TIMEOUT,
        headers: tuple[Header, ...] = (),
        largest: int = LARGEST,
    ) -> JsonObject:
        """What a webhook answers to a review, both JSON objects; `headers` and `largest` as `post` has them.

        Raises WebhookError.
        """
        answered = await self.ask(config, review, timeout, headers, largest)
        try:
            found = loads(answered)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            told = "couldn't get version/kind; json parse error: the answer is no JSON object"
            raise WebhookError(told, reached=True)
        return found

    async def ask(
        self,
        config: JsonObject,
        review: bytes,
        timeout: float = TIMEOUT,
        headers: tuple[Header, ...] = (),
        largest: int = LARGEST,
    ) -> bytes:
        """The same, whatever the answer holds, if it is one of success and not empty. Raises WebhookError."""
        answer = await self.post(config, review, timeout, headers, largest)
        if not 200 <= answer.status <= 206:
            raise WebhookError(refusal(answer.status, answer.body), reached=True)
        if not answer.body:
            told = f"0-length response with status code: {answer.status} and content type: application/json"
            raise WebhookError(told, reached=True)
        return answer.body

    async def post(
        self,
        config: JsonObject,
        body: bytes,
        timeout: float = TIMEOUT,
        headers: tuple[Header, ...] = (),
        largest: int = LARGEST,
    ) -> Answer:
        """Posts JSON to a webhook, with a query that says for how many seconds it is waited for; its answer, whatever
        its status. `headers` are sent beside the content types; an answer of more than `largest` bytes is an error.
        Raises WebhookError.
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
            return await self._client.call(place.target, asked, timeout, largest)
        except CallError as error:
            raise WebhookError(f'Post "{place.url}": {error}', late=error.late) from None

    def _place(self, config: JsonObject, query: str) -> Place:
        """Raises WebhookError, ValueError for a bundle without certificates."""
        bundle = config.get("caBundle") or ""
        if url := config.get("url"):
            parts = urlsplit(url)
            identity = self._identify(parts.hostname or "", parts.port or 443)
            path = (parts.path or "/") + (f"?{parts.query}&{query}" if parts.query else f"?{query}")
            shown = f"{parts.scheme}://{parts.netloc}{path if parts.path else '/' + path.removeprefix('/')}"
            authority, context = parts.netloc.rpartition("@")[2], _trusting(bundle, identity)
            target = Target(parts.hostname or "", parts.port or 443, context, authority=authority)
            return Place(target, path, shown, identity)
        service = config.get("service") or {}
        namespace, name, port = service.get("namespace", ""), service.get("name", ""), service.get("port") or 443
        path = "/" + (service.get("path") or "").removeprefix("/") + f"?{query}"
        known = f"{name}.{namespace}.svc"
        url = f"https://{known}:{port}{path}"
        try:
            host, at = self._services.address(namespace, name, port)
        except NoAddress as error:
            raise WebhookError(f'Post "{url}": {error}') from None
        identity = self._identify(known, port)
        context = _trusting(bundle, identity)
        return Place(Target(host, at, context, known, f"{known}:{port}"), path, url, identity)


def _trusting(bundle: str, identity: Identity) -> Context:
    trusted = base64.b64decode(bundle).decode("ascii", "replace")
    return context_of(trusted, identity.certificate, identity.key)
