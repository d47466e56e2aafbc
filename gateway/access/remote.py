"""Calls a webhook for authentication or authorization. A kubeconfig file has its address and credentials ("Webhook
Mode", "Webhook Token Authentication").
"""

from __future__ import annotations

import asyncio
import base64
import random
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gateway.jsontypes import JsonObject, dumps
from gateway.outbound.client import Client
from gateway.outbound.errors import CallError
from gateway.outbound.request import Header, OutboundRequest, headers_of
from gateway.outbound.target import Target
from gateway.outbound.trust import TlsContext, identify, trusting
from gateway.schema.body import DecodeError, parse_body
from gateway.schema.outside import check_members, parsed_soon
from gateway.settings.configuration_file import InvalidConfiguration, load_yaml
from gateway.webhooks.refusals import refusal

TIMEOUT = 30.0  # seconds for one call
_TOTAL_TIMEOUT = 60.0  # seconds for all attempts together
_ATTEMPTS = 5
FIRST_PAUSE = 0.5
_LONGER, _JITTER = 1.5, 0.2
_MOST_AT_ONCE = 32
_LARGEST = 3 << 20  # bytes of an answer
_GATEWAY_TIMEOUT = 504
_WORTH_ANOTHER = frozenset({429, 500, _GATEWAY_TIMEOUT})


class RemoteError(Exception):
    """The service could not be called, or its answer is invalid.

    `passing`: whether another attempt may succeed. `timed_out`: whether the service did not answer in time.
    """

    def __init__(self, message: str, passing: bool = False, timed_out: bool = False) -> None:
        super().__init__(message)
        self.passing, self.timed_out = passing, timed_out


@dataclass(frozen=True, slots=True)
class RemoteService:
    """The address of the service, and the credentials for it: an Authorization header, or a file with a token."""

    target: Target
    path: str
    authorization: str
    token_file: Path | None

    def headers(self) -> list[Header]:
        """The headers of a call. A token file is read each time. Raises OSError."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "kube-apiserver"}
        found = f"Bearer {self.token_file.read_text().strip()}" if self.token_file else self.authorization
        return headers_of(headers | {"Authorization": found} if found else headers)

    @property
    def url(self) -> str:
        """The service's URL for messages."""
        return f"{self.target.scheme}://{self.target.host}:{self.target.port}{self.path}"


class Remote:
    """A client of the service; `ask` posts a review."""

    def __init__(self, place: RemoteService, timeout: float = TIMEOUT, first_pause: float = FIRST_PAUSE) -> None:
        """`timeout` is for one call, `first_pause` before the second attempt, in seconds. Later pauses are longer."""
        self._place, self._timeout, self._first_pause = place, timeout, first_pause
        self._client = Client()
        self._places = asyncio.Semaphore(_MOST_AT_ONCE)

    async def ask(self, review: JsonObject) -> JsonObject:
        """Posts a review and returns the answer. Errors that may pass are retried. Raises RemoteError."""
        body, pause = dumps(review), self._first_pause
        try:
            async with asyncio.timeout(_TOTAL_TIMEOUT):
                for left in reversed(range(_ATTEMPTS)):
                    try:
                        async with self._places:
                            return await self._post(body)
                    except RemoteError as error:
                        if not error.passing or not left:
                            raise
                    await asyncio.sleep(pause * (1 + random.random() * _JITTER))
                    pause *= _LONGER
        except TimeoutError:
            raise RemoteError(f'Post "{self._place.url}": context deadline exceeded', timed_out=True) from None
        raise AssertionError("the last attempt returns or raises")

    def close(self) -> None:
        """Closes the idle connections."""
        self._client.close()

    async def _post(self, body: bytes) -> JsonObject:
        place = self._place
        try:
            asked = OutboundRequest("POST", place.path, place.headers(), body, repeatable=True)
            answer = await self._client.call(place.target, asked, self._timeout, _LARGEST)
        except OSError as error:
            raise RemoteError(f"cannot read the token: {error}") from None
        except CallError as error:
            raise RemoteError(f'Post "{place.url}": {error}', passing=error.reset, timed_out=error.late) from None
        kind = answer.header("content-type")
        if not 200 <= answer.status < 300:
            text, passing = refusal(answer.status, answer.body, kind), answer.status in _WORTH_ANOTHER
            raise RemoteError(text, passing, timed_out=answer.status == _GATEWAY_TIMEOUT)
        if not answer.body:
            raise RemoteError(f"0-length response with status code: {answer.status} and content type: {kind}")
        try:
            check_members(answer.body)
            found, _ = await parsed_soon(parse_body, answer.body)
        except DecodeError as error:
            raise RemoteError(f"couldn't get version/kind; json parse error: {error}") from None
        if not isinstance(found, dict):
            raise RemoteError("couldn't get version/kind; json parse error: it is not a JSON object")
        return found


def read_place(path: Path) -> RemoteService:
    """The service of a kubeconfig file's current context. Raises OSError, InvalidConfiguration."""
    config = load_yaml(path.read_bytes())
    if not isinstance(config, dict):
        raise InvalidConfiguration("it is not a kubeconfig")
    context = named(config, "contexts", "context", config.get("current-context") or "")
    cluster = named(config, "clusters", "cluster", context.get("cluster") or "")
    user = named(config, "users", "user", context["user"]) if context.get("user") else {}
    return place_of(path.parent, cluster, user)


def place_of(directory: Path, cluster: JsonObject, user: JsonObject) -> RemoteService:
    """The service of a kubeconfig's cluster and user entries. Relative paths in them start at `directory`.

    Raises OSError, InvalidConfiguration.
    """
    server = str(cluster.get("server") or "")
    parts = urlsplit(server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidConfiguration(f"it names no server that can be reached, such as https://host/path: {server!r}")
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        secured = _context(directory, cluster, user) if parts.scheme == "https" else None
    except (ssl.SSLError, ValueError) as error:
        raise InvalidConfiguration(f"its certificates or keys cannot be used: {error}") from None
    token, token_file = str(user.get("token") or ""), user.get("tokenFile")
    authorization = f"Bearer {token}" if token else ""
    if user.get("username"):
        pair = f"{user['username']}:{user.get('password') or ''}".encode()
        authorization = f"Basic {base64.b64encode(pair).decode()}"
    return RemoteService(
        Target(parts.hostname, port, secured, str(cluster.get("tls-server-name") or "")),
        (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        authorization,
        directory / str(token_file) if token_file else None,
    )


def named(config: JsonObject, kind: str, member: str, name: str) -> JsonObject:
    """The `member` of the entry of a kubeconfig's list `kind` that has a name. Raises InvalidConfiguration."""
    for each in config.get(kind) or ():
        if isinstance(each, dict) and each.get("name") == name:
            found = each.get(member)
            return found if isinstance(found, dict) else {}
    if not name and kind == "contexts":
        raise InvalidConfiguration("it has no current-context")
    raise InvalidConfiguration(f"it has no {member} {name!r}")


def _context(directory: Path, cluster: JsonObject, user: JsonObject) -> TlsContext:
    authority = _content(directory, cluster, "certificate-authority")
    context = trusting(authority.decode(), insecure=bool(cluster.get("insecure-skip-tls-verify")))
    certificate, key = _content(directory, user, "client-certificate"), _content(directory, user, "client-key")
    if certificate:
        identify(context, certificate, key)
    return context


def _content(directory: Path, of: JsonObject, name: str) -> bytes:
    data: Any = of.get(f"{name}-data")
    if data:
        return base64.b64decode(str(data), validate=True)
    return (directory / str(of[name])).read_bytes() if of.get(name) else b""
