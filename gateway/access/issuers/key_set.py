"""An issuer's keys, found by its discovery document (OpenID Connect Discovery 1.0).

The keys are fetched again when a token names an unknown key, so that the issuer may rotate them. While tokens are in
use, a background task also fetches them every few seconds, so that a key the issuer has removed is no longer accepted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gateway.jsontypes import JsonObject
from gateway.outbound.client import Client
from gateway.outbound.errors import CallError
from gateway.outbound.request import OutboundRequest
from gateway.outbound.target import target_of_url
from gateway.outbound.trust import trusting
from gateway.schema.outside import read_object_soon

if TYPE_CHECKING:
    from jwt import PyJWK

logger = logging.getLogger(__name__)

WELL_KNOWN = "/.well-known/openid-configuration"
TIMEOUT = 10.0  # seconds for one document
PAUSE = 10.0  # seconds between attempts at a discovery that failed
BETWEEN_FETCHES = 1.0  # seconds: tokens with unknown keys must not cause more fetches than that
BETWEEN_LOOKS = 8.0  # seconds: kube-apiserver accepts a removed key for 10 s
_BETWEEN_FAILED_LOOKS = 60.0
MOST_KEYS = 64  # of a set; all are tried for a token without a key id, some 100 us each
_MOST_LOOKED_AT = 256  # of a set, unusable keys included
_LARGEST = 1 << 20  # bytes
_LARGEST_EXPONENT = 0x7FFFFFFF  # of an RSA key, as in Go's crypto/rsa; one of 3072 bits takes 6 ms
_MEMBERS = ("kty", "use", "kid", "crv", "x", "y", "n", "e")  # of a public key; only they are kept


class KeySetError(Exception):
    """The keys could not be fetched; the message says why."""


class KeySet:
    """The keys of one issuer. The first token causes the first fetch. `changes` counts how often the keys changed."""

    def __init__(self, issuer: str, discovery_url: str, authority: str) -> None:
        """`authority` has the CAs for the issuer's certificate, in PEM; "" means the host's CAs. Raises ValueError."""
        self._issuer, self._authority = issuer, authority
        self._discovery = discovery_url or issuer.rstrip("/") + WELL_KNOWN
        self._context = trusting(authority) if authority else None
        self._place = ""
        self._keys: tuple[PyJWK, ...] = ()
        self._said: list[JsonObject] | None = None
        self.changes = 0
        self._look_at = 0.0
        self._looking: asyncio.Task[None] | None = None
        self._fetching: asyncio.Task[None] | None = None
        self._failed = self._fetched = -PAUSE

    async def keys(self, identity: str, known: bool = True) -> Sequence[PyJWK]:
        """The keys for a token with a key id (`kid`), or all keys if `identity` is "".

        With `known` False they are fetched again, even if matching keys are at hand. Raises KeySetError.
        """
        found = self._fitting(identity)
        if known and found:
            return found
        if time.monotonic() - self._fetched >= BETWEEN_FETCHES:
            await self._fetch()
        return self._fitting(identity)

    def look(self) -> None:
        """Starts a fetch in the background, if the last one is long enough ago. No request waits for it."""
        if self._fetched > 0 and time.monotonic() >= self._look_at and self._looking is None:
            self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        try:
            await self._fetch()
        except KeySetError:  # _renew has logged it; the old keys stay in force, since the issuer may be down
            self._look_at = time.monotonic() + _BETWEEN_FAILED_LOOKS
        finally:
            self._looking = None

    def _fitting(self, identity: str) -> list[PyJWK]:
        return [key for key in self._keys if not identity or key.key_id == identity]

    async def _fetch(self) -> None:
        """Fetches the keys. Concurrent callers share one fetch."""
        if self._fetching is None:
            if time.monotonic() - self._failed < PAUSE and not self._place:
                raise KeySetError("oidc: authenticator not initialized")
            self._fetching = asyncio.create_task(self._renew())
        task = self._fetching
        try:
            await asyncio.shield(task)
        finally:
            if task.done() and self._fetching is task:
                self._fetching = None

    async def _renew(self) -> None:
        try:
            if not self._place:
                self._place = await self._discover()
            document = await self._get(self._place)
        except KeySetError as error:
            self._failed = time.monotonic()
            logger.warning("keys of the issuer %s cannot be fetched: %s", self._issuer, error)
            raise
        self._fetched = time.monotonic()
        self._look_at = self._fetched + BETWEEN_LOOKS
        said = _candidates(document.get("keys"))
        if said != self._said:
            self._said, self._keys = said, tuple(_usable(said))
            self.changes += 1

    async def _discover(self) -> str:
        document = await self._get(self._discovery)
        if document.get("issuer") != self._issuer:
            stated = document.get("issuer")
            raise KeySetError(
                f"oidc: issuer did not match the issuer returned by provider, expected {self._issuer!r} got {stated!r}"
            )
        place = document.get("jwks_uri")
        if not isinstance(place, str) or urlsplit(place).scheme != "https":
            raise KeySetError("provider did not return JWKS URL")
        return place

    async def _get(self, url: str) -> JsonObject:
        if self._context is None:
            self._context = await asyncio.to_thread(trusting, "")  # reads all CAs of the host
        try:
            target, path = target_of_url(url, self._context)
            asked = OutboundRequest("GET", path, ((b"accept", b"application/json"), (b"connection", b"close")))
            answer = await Client().call(target, asked, TIMEOUT, _LARGEST)
        except (CallError, ValueError) as error:
            raise KeySetError(f'Get "{url}": {error}') from None
        if answer.status != 200:
            raise KeySetError(f'Get "{url}": {answer.status}')
        found = await read_object_soon(answer.body, _LARGEST)
        if found is None:
            raise KeySetError(f'Get "{url}": it is not a JSON object')
        return found


def _candidates(keys: object) -> list[JsonObject]:
    """The RSA and EC keys of a JWK set, without the members that no signature needs: an issuer may send anything there.

    Of `alg`, too, nothing is kept: the token's header names the algorithm, which must be an allowed one.
    """
    listed = keys[:_MOST_LOOKED_AT] if isinstance(keys, list) else ()
    signing = (each for each in listed if isinstance(each, dict) and each.get("use", "sig") == "sig")
    return [
        {name: each[name] for name in _MEMBERS if isinstance(each.get(name), str)}
        for each in signing
        if each.get("kty") in ("RSA", "EC")
    ]


def _usable(keys: Sequence[JsonObject]) -> list[PyJWK]:
    """The keys that signatures can be verified with; the others are left out."""
    import jwt

    found: list[jwt.PyJWK] = []
    bad: list[JsonObject] = []
    for each in keys:
        if len(found) >= MOST_KEYS:
            break
        with contextlib.suppress(jwt.PyJWTError, ValueError, TypeError):
            key = jwt.PyJWK(each)
            if _is_fast(key):
                found.append(key)
                continue
        bad.append(each)
    if bad:
        logger.warning("%d of the keys of an issuer cannot be used", len(bad), extra={"kid": bad[0].get("kid")})
    return found


def _is_fast(key: PyJWK) -> bool:
    """Whether a signature is verified with few operations."""
    return key.key_type != "RSA" or key.key.public_numbers().e <= _LARGEST_EXPONENT
