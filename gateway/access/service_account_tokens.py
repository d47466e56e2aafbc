"""Service account tokens: JSON web tokens (RFC 7519) that become invalid when the object they are bound to is deleted.

The rules are those of kube-apiserver's `pkg/serviceaccount`. The claims of a verified token are cached. Whether the
account and the bound object exist is looked up in the watch cache for each request.
"""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING

from gateway import clock
from gateway.access import token_counts
from gateway.access.authentication import Authenticated, InvalidCredentials, decoded
from gateway.access.keys import SigningKey, VerificationKey
from gateway.access.legacy_uses import LegacyUses
from gateway.access.members import object_in, text_in
from gateway.access.service_accounts import account_groups, account_name, account_of
from gateway.access.web_tokens import UnverifiedToken, header_of, untrusted_claims, verified_claims
from gateway.http.user import User, extra_of
from gateway.jsontypes import JsonObject
from gateway.kinds.identity import core
from gateway.memo import Recent, memory_of
from gateway.validation.field import go_quote

if TYPE_CHECKING:
    from gateway.access.object_reader import ObjectReader

LEGACY_ISSUER = "kubernetes/serviceaccount"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
LEEWAY = 60  # seconds by which the clocks of servers may differ
_PREFIX = "authentication.kubernetes.io/"
_VOID = "service account token has been invalidated"
_BOUND = (("secret", "secrets", "Secret"), ("pod", "pods", "pod"))
_LEGACY = "kubernetes.io/serviceaccount/"
_MOST_REMEMBERED, _REMEMBERED = 4096, 8 << 20  # tokens, and bytes of their claims
_LONGEST_REMEMBERED = 8192  # characters of a token


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs claims in the name of an issuer."""

    issuer: str
    key: SigningKey

    def sign(self, claims: JsonObject) -> str:
        """The signed token: header, claims and signature in base64url, separated by dots."""
        import jwt

        public = self.key.public
        headers = {"kid": public.identity, "typ": None}
        return jwt.encode(claims, self.key.key, algorithm=public.algorithm, headers=headers)


class ServiceAccountTokens:
    """Authenticates service accounts by tokens of `issuers`, and by legacy tokens, which are stored in secrets."""

    def __init__(
        self,
        issuers: Sequence[str],
        keys: Callable[[], Sequence[VerificationKey]],
        audiences: Sequence[str],
        objects: ObjectReader,
        *,
        lookup: bool = True,
        uses: LegacyUses | None = None,
    ) -> None:
        """`keys` is called at the first token.

        `lookup`: whether a legacy token is valid only while its secret exists (--service-account-lookup).
        """
        self._uses = uses or LegacyUses()
        self._issuers, self._load = frozenset(issuers), keys
        self._keys: Sequence[VerificationKey] = ()
        self._audiences, self._objects, self._lookup = tuple(audiences), objects, lookup
        self._verified: Recent[bytes, JsonObject] = Recent(_MOST_REMEMBERED, _REMEMBERED)

    def replace(self, keys: Sequence[VerificationKey]) -> None:
        """Replaces the keys: tokens that other keys have signed become invalid."""
        self._keys = tuple(keys)
        self._verified.clear()

    async def authenticate(self, token: str, audiences: Sequence[str]) -> Authenticated | None:
        """The service account of the token; None for a token of another issuer. Raises InvalidCredentials."""
        claims = await decoded(token, partial(self._claims, token))
        if claims is None:
            return None
        legacy = claims["iss"] == LEGACY_ISSUER
        meant_for = _strings(claims.get("aud"))
        if not meant_for:
            token_counts.LEGACY.inc()
            meant_for = self._audiences
        wanted_for = frozenset(audiences)  # a client may ask for very many, and a token name as many
        common = tuple(each for each in meant_for if each in wanted_for)
        if not common and self._audiences:
            shown, wanted = _go_list(meant_for), _go_list(audiences)
            raise InvalidCredentials(f"token audiences {shown} is invalid for the target audiences {wanted}")
        _check_times(claims)
        user = await (self._legacy(token, claims) if legacy else self._bound(claims))
        return Authenticated(user, common)

    def _claims(self, token: str) -> JsonObject | None:
        """The verified claims of a token; None for a token of another issuer. Raises InvalidCredentials."""
        digest = sha256(token.encode("utf-8", "surrogateescape")).digest()
        if (known := self._verified.find(digest)) is not None:
            return known
        header, untrusted = header_of(token), untrusted_claims(token)
        if header is None or untrusted is None:
            return None
        issuer = untrusted.get("iss")
        if not isinstance(issuer, str) or (issuer not in self._issuers and issuer != LEGACY_ISSUER):
            return None
        claims = self._verify(token, header.get("kid", ""))
        if len(token) <= _LONGEST_REMEMBERED:
            self._verified.keep(digest, claims, memory_of(claims))
        return claims

    def _verify(self, token: str, identity: str) -> JsonObject:
        self._keys = self._keys or self._load()
        keys = [key for key in self._keys if not identity or key.identity == identity]
        if not keys:
            raise InvalidCredentials("invalid signature, no keys found")
        for key in keys:
            try:
                return verified_claims(token, key.key, key.algorithm)
            except UnverifiedToken:
                continue
        raise InvalidCredentials("go-jose/go-jose: error in cryptographic primitive")

    async def _bound(self, claims: JsonObject) -> User:
        private = object_in(claims, "kubernetes.io")
        account = object_in(private, "serviceaccount")
        namespace, name, uid = text_in(private, "namespace"), text_in(account, "name"), text_in(account, "uid")
        await self._check_account(namespace, name, uid)
        if warn_after := _seconds(private, "warnafter", 0.0):
            (token_counts.STALE if clock.now() > warn_after else token_counts.VALID).inc()
        extra: dict[str, tuple[str, ...]] = {}
        for key, plural, kind in _BOUND:
            bound = object_in(private, key)
            if bound:
                await self._check_object(bound, plural, namespace, kind, key)
                if key == "pod":
                    extra |= _named("pod", bound)
        node = object_in(private, "node")
        if node:
            if not object_in(private, "pod"):
                await self._check_object(node, "nodes", "", "Node", "node")
            extra |= _named("node", node)
        if identity := text_in(claims, "jti"):
            extra[f"{_PREFIX}credential-id"] = (f"JTI={identity}",)
        return User(account_name(namespace, name), account_groups(namespace), uid, extra_of(extra))

    async def _check_account(self, namespace: str, name: str, uid: str) -> JsonObject:
        """The account. Raises InvalidCredentials if it is missing, deleted, or has another UID."""
        account = await self._objects.get(core("serviceaccounts"), namespace, name) if namespace and name else None
        if account is None:
            raise InvalidCredentials(f"serviceaccounts {go_quote(name)} not found")
        actual = account["metadata"].get("uid", "")
        if actual != uid:
            raise InvalidCredentials(f"service account UID ({actual}) does not match claim ({uid})")
        if _was_deleted(account):
            raise InvalidCredentials(f"service account {namespace}/{name} has been deleted")
        return account

    async def _check_object(self, claim: JsonObject, plural: str, namespace: str, kind: str, key: str) -> None:
        name, uid = text_in(claim, "name"), text_in(claim, "uid")
        found = await self._objects.get(core(plural), namespace, name) if name else None
        if found is None:
            raise InvalidCredentials(_VOID)
        actual = found["metadata"].get("uid", "")
        if actual != uid:
            text = (
                f"{kind if key != 'pod' else key} UID ({actual}) does not match service account {key} ref claim ({uid})"
            )
            raise InvalidCredentials(text)
        if _was_deleted(found):
            raise InvalidCredentials(_VOID)

    async def _legacy(self, token: str, claims: JsonObject) -> User:
        names = {"namespace": "namespace", "secret.name": "secretName", "service-account.name": "serviceAccountName"}
        names["service-account.uid"] = "serviceAccountUID"
        if not text_in(claims, "sub"):
            raise InvalidCredentials("sub claim is missing")
        for claim, shown in names.items():
            if not text_in(claims, _LEGACY + claim):
                raise InvalidCredentials(f"{shown} claim is missing")
        namespace, secret_name, name, uid = (text_in(claims, _LEGACY + claim) for claim in names)
        if account_of(text_in(claims, "sub")) != (namespace, name):
            raise InvalidCredentials("sub claim is invalid")
        if self._lookup:
            await self._check_secret(token, namespace, secret_name, name, uid)
        return User(account_name(namespace, name), account_groups(namespace), uid)

    async def _check_secret(self, token: str, namespace: str, name: str, account: str, uid: str) -> None:
        secret = await self._objects.get(core("secrets"), namespace, name)
        if secret is None or secret["metadata"].get("deletionTimestamp"):
            raise InvalidCredentials("Token has been invalidated")
        copy = b64decode((secret.get("data") or {}).get("token", ""))
        if not compare_digest(copy, token.encode("utf-8", "surrogateescape")):
            raise InvalidCredentials("Token does not match server's copy")
        owner = await self._check_account(namespace, account, uid)
        labels = secret["metadata"].get("labels") or {}
        self._uses.note(namespace, name, labels)
        if labels.get(INVALID_SINCE):
            token_counts.INVALID.inc()
            advice = (
                "Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the "
                f"'{INVALID_SINCE}' label from the secret to temporarily allow use of this token"
            )
            where = f"secret {namespace}/{name} for service account {namespace}/{account}"
            raise InvalidCredentials(f"the token in {where} has been marked invalid. {advice}")
        automatic = any(each.get("name") == name for each in owner.get("secrets") or ())
        (token_counts.AUTOMATIC if automatic else token_counts.MANUAL).inc()


def _check_times(claims: JsonObject) -> None:
    now = clock.now()
    if now - LEEWAY > _seconds(claims, "exp", now):
        raise InvalidCredentials("service account token has expired")
    if now + LEEWAY < _seconds(claims, "nbf", now):
        raise InvalidCredentials("service account token is not valid yet")
    if now + LEEWAY < _seconds(claims, "iat", now):
        raise InvalidCredentials("service account token is issued in the future")


def _seconds(claims: JsonObject, name: str, otherwise: float) -> float:
    value = claims.get(name)
    return float(value) if isinstance(value, int | float) else otherwise


def _was_deleted(obj: JsonObject) -> bool:
    """Whether an object's deletionTimestamp is more than LEEWAY seconds ago."""
    text = obj["metadata"].get("deletionTimestamp")
    return bool(text) and datetime.fromisoformat(text).timestamp() < time.time() - LEEWAY


def _named(what: str, claim: JsonObject) -> dict[str, tuple[str, ...]]:
    found = {f"{_PREFIX}{what}-{key}": text_in(claim, key) for key in ("name", "uid")}
    return {key: (value,) for key, value in found.items() if value}


def _strings(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _go_list(values: Sequence[str]) -> str:
    return "[" + " ".join(map(go_quote, values)) + "]"
