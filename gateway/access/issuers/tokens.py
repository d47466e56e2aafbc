"""Authenticates by tokens of one issuer. PyJWT verifies signatures.

The verified claims of a token are cached until the issuer's keys change. The expiry is checked and the user made anew
for each request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from gateway.access.authentication import Authenticated, InvalidCredentials, decoded
from gateway.access.issuers.claim_mapper import ClaimError, Mapper
from gateway.access.issuers.key_set import KeySet, KeySetError
from gateway.access.issuers.settings import IssuerSettings
from gateway.access.web_tokens import UnverifiedToken, header_of, untrusted_claims, verified_claims
from gateway.jsontypes import JsonObject
from gateway.memo import Recent, memory_of
from gateway.release.gates import Enabled
from gateway.time_limits import soon_or_in_thread
from gateway.validation.field import go_quote

if TYPE_CHECKING:
    from jwt import PyJWK

NOT_BEFORE_LEEWAY = 300.0  # seconds that an issuer's clock may be ahead
_MOST_REMEMBERED, _REMEMBERED = 4096, 8 << 20  # tokens, and bytes of their claims
_LONGEST = 64 << 10  # characters of a token
_LONGEST_REMEMBERED = 8192
_MOST_SECONDS = 1 << 40


class IssuerTokens:
    """Authenticates by the tokens of one issuer."""

    def __init__(self, settings: IssuerSettings, enabled: Enabled) -> None:
        """`enabled` selects the edition of CEL.

        Raises ValueError for invalid CAs, ExpressionError for invalid expressions.
        """
        self.settings = settings
        self._keys = KeySet(settings.url, settings.discovery_url, settings.authority)
        self._mapper = Mapper(settings, enabled)
        self._verified: Recent[bytes, JsonObject] = Recent(_MOST_REMEMBERED, _REMEMBERED)
        self._verified_by = self._keys.changes  # which set of keys

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """The token's user, valid for all of `audiences`; None for a token of another issuer.

        Raises InvalidCredentials.
        """
        if untrusted_issuer(token) != self.settings.url:
            return None
        self._keys.look()
        claims = await self._claims(token)
        _check_times(claims)
        try:
            user = await soon_or_in_thread(partial(self._mapper.user, claims))
        except ClaimError as error:
            raise InvalidCredentials(str(error)) from None
        return Authenticated(user, tuple(audiences))

    async def _claims(self, token: str) -> JsonObject:
        if self._verified_by != self._keys.changes:
            self._verified_by = self._keys.changes
            self._verified.clear()
        digest = sha256(token.encode("utf-8", "surrogateescape")).digest()
        claims = self._verified.find(digest)
        if claims is None:
            claims = await self._verify(token)
            # not cached if the keys changed during the verification: the key may have been removed
            if len(token) <= _LONGEST_REMEMBERED and self._verified_by == self._keys.changes:
                self._verified.keep(digest, claims, memory_of(claims))
        return claims

    async def _verify(self, token: str) -> JsonObject:
        """The claims of a token, once its signature and audience are verified. Raises InvalidCredentials."""
        header = header_of(token)
        if header is None:
            raise InvalidCredentials("oidc: verify token: oidc: malformed jwt")
        algorithm, identity = header.get("alg", ""), header.get("kid", "")
        if not isinstance(identity, str):
            raise InvalidCredentials("oidc: verify token: oidc: malformed jwt")
        if algorithm not in self.settings.algorithms:
            supported = " ".join(self.settings.algorithms)
            text = f"id token signed with unsupported algorithm, expected [{supported}] got {go_quote(str(algorithm))}"
            raise InvalidCredentials(f"oidc: verify token: oidc: {text}")
        claims = await self._signed(token, algorithm, identity)
        given = claims.get("aud")
        meant_for = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        if not any(each in self.settings.audiences for each in meant_for):
            wanted = " ".join(map(go_quote, sorted(self.settings.audiences)))
            shown = " ".join(go_quote(each) for each in meant_for if isinstance(each, str))
            raise InvalidCredentials(f"oidc: verify token: oidc: expected audience in [{wanted}] got [{shown}]")
        return claims

    async def _signed(self, token: str, algorithm: str, identity: str) -> JsonObject:
        tried: set[PyJWK] = set()
        for known in (True, False):
            try:
                keys = await self._keys.keys(identity, known)
            except KeySetError as error:
                raise InvalidCredentials(f"oidc: verify token: {error}") from None
            for key in keys:
                if key in tried:
                    continue
                tried.add(key)
                try:
                    return await decoded(token, partial(verified_claims, token, key.key, algorithm))
                except UnverifiedToken:
                    await asyncio.sleep(0)  # a key of 16,384 bits takes some milliseconds
        raise InvalidCredentials("oidc: verify token: failed to verify signature: failed to verify id token signature")


def untrusted_issuer(token: str) -> str:
    """The issuer that a token names, not verified; "" if the text is not a JSON web token."""
    issuer = (untrusted_claims(token) or {}).get("iss", "") if len(token) <= _LONGEST else ""
    return issuer if isinstance(issuer, str) else ""


def _check_times(claims: JsonObject) -> None:
    now = time.time()
    expiry = _seconds(claims.get("exp"))
    if expiry < now:
        shown = time.strftime("%Y-%m-%d %H:%M:%S +0000 UTC", time.gmtime(expiry))
        raise InvalidCredentials(f"oidc: verify token: oidc: token is expired (Token Expiry: {shown})")
    if "nbf" in claims and now + NOT_BEFORE_LEEWAY < _seconds(claims["nbf"]):
        raise InvalidCredentials("oidc: verify token: oidc: current time before the nbf (not before) time")


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return max(0.0, min(float(value), _MOST_SECONDS)) if value == value else 0.0
