"""Authenticates tokens by a webhook (page "Authenticating", "Webhook Token Authentication")."""

from __future__ import annotations

import time
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from gateway.access.authentication import Authenticated, InvalidCredentials
from gateway.access.members import object_in, text_in
from gateway.access.remote import Remote, RemoteError
from gateway.http.user import User, extra_of
from gateway.jsontypes import JsonObject
from gateway.memo import Recent, memory_of

GROUP = "authentication.k8s.io"
_MOST_REMEMBERED, _REMEMBERED = 4096, 8 << 20  # answers, and bytes of their users
_LARGEST = 256 << 10  # bytes of one: a user may be in thousands of groups
_ANSWER = 200  # bytes besides the user and the audiences

_Key = tuple[bytes, tuple[str, ...]]


class WebhookTokens:
    """Asks the service about each token. Answers are cached for some time, by the SHA-256 of the token.

    Errors are not cached: neither failed calls nor answers with `status.error`.
    """

    def __init__(self, remote: Remote, version: str, implicit: Sequence[str], ttl: float) -> None:
        """`implicit` are the audiences of a token if the service names none: the API server's. `ttl` is in seconds."""
        self._remote, self._version, self._implicit, self._ttl = remote, version, tuple(implicit), ttl
        self._remembered: Recent[_Key, tuple[float, Authenticated | None]] = Recent(
            _MOST_REMEMBERED, _REMEMBERED, _LARGEST
        )

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """The user of the token; None if the service does not authenticate it. Raises InvalidCredentials."""
        key = (sha256(token.encode("utf-8", "surrogateescape")).digest(), tuple(audiences))
        until, found = self._remembered.find(key) or (0.0, None)
        if until < time.monotonic():
            found = await self._ask(token, audiences)
            self._remember(key, found)
        return found

    async def _ask(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        spec = {"token": token.encode("utf-8", "surrogateescape").decode("utf-8", "replace")}
        review: JsonObject = {"kind": "TokenReview", "apiVersion": f"{GROUP}/{self._version}", "metadata": {}}
        review |= {"spec": {**spec, "audiences": list(audiences)} if audiences else spec, "status": {"user": {}}}
        try:
            answer = await self._remote.ask(review)
        except RemoteError as error:
            raise InvalidCredentials(str(error)) from None
        status = object_in(answer, "status")
        wanted = frozenset(audiences)
        common = tuple(each for each in _strings(status.get("audiences")) or self._implicit if each in wanted)
        if audiences and not common:
            return None
        if status.get("authenticated") is not True:
            if reason := text_in(status, "error"):
                raise InvalidCredentials(reason)
            return None
        user = object_in(status, "user")
        extra = {key: _strings(values) for key, values in object_in(user, "extra").items()}
        groups = tuple(_strings(user.get("groups")))
        return Authenticated(User(text_in(user, "username"), groups, text_in(user, "uid"), extra_of(extra)), common)

    def _remember(self, key: _Key, found: Authenticated | None) -> None:
        if self._ttl > 0:
            size = _ANSWER + memory_of(key[1]) + (found.user.size + memory_of(found.audiences) if found else 0)
            self._remembered.keep(key, (time.monotonic() + self._ttl, found), size)


def _strings(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
