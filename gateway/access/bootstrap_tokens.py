"""Bootstrap tokens: secrets in kube-system that let a node join ("Authenticating with Bootstrap Tokens")."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Sequence
from datetime import UTC, datetime
from hmac import compare_digest
from typing import TYPE_CHECKING

from gateway import clock
from gateway.access.authentication import Authenticated
from gateway.http.user import User
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import core
from gateway.schema.times import canonical_time

if TYPE_CHECKING:
    from gateway.access.object_reader import ObjectReader

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})", re.ASCII)
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]", re.ASCII)
_TYPE = "bootstrap.kubernetes.io/token"
_EVERYBODY = "system:bootstrappers"


class BootstrapTokens:
    """Authenticates tokens of the form `ID.SECRET` by the secret bootstrap-token-ID in kube-system."""

    def __init__(self, objects: ObjectReader) -> None:
        self._objects = objects

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """The user system:bootstrap:ID; None if the token is not a bootstrap token, or an invalid or expired one."""
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            return None
        identity, wanted = parts.groups()
        secret = await self._objects.get(core("secrets"), "kube-system", f"bootstrap-token-{identity}")
        if secret is None or secret.get("type") != _TYPE or secret["metadata"].get("deletionTimestamp"):
            return None
        data = _data(secret)
        sound = compare_digest(data.get("token-secret", "").encode(), wanted.encode())
        sound = sound and data.get("token-id") == identity and data.get("usage-bootstrap-authentication") == "true"
        groups = _groups(data.get("auth-extra-groups", ""))
        if not sound or groups is None or _has_expired(data.get("expiration", "")):
            return None
        return Authenticated(User(f"system:bootstrap:{identity}", groups), tuple(audiences))


def _data(secret: JsonObject) -> dict[str, str]:
    return {key: b64decode(value or "").decode("utf-8", "replace") for key, value in (secret.get("data") or {}).items()}


def _groups(text: str) -> tuple[str, ...] | None:
    """The groups of the token, from comma-separated text; None if a name is invalid, such as the empty one in "a,"."""
    named = set(text.split(",")) if text else set()
    if not all(map(_GROUP.fullmatch, named)):
        return None
    return tuple(sorted({_EVERYBODY, *named}))


def _has_expired(text: str) -> bool:
    if not text:
        return False
    try:
        until = canonical_time(text)  # as Go reads it: datetime also accepts dates, weeks and times without a zone
        return until is None or datetime.fromisoformat(until) <= datetime.fromtimestamp(clock.now(), UTC)
    except ValueError:
        return True
