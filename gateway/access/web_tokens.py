"""JSON web tokens (RFC 7519): their parts as text that is valid Unicode, and whose signature is good.

PyJWT verifies signatures. What the parts say is read by the server's own reader of JSON, once.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.outside import read_object


class Unverified(ValueError):
    """A token whose signature is not that of a key, or which is no token."""


def header_of(token: str) -> JsonObject | None:
    """What a token's header says; None for what is no token."""
    return _part(token, 0)


def untrusted_claims(token: str) -> JsonObject | None:
    """What a token claims, whoever has signed it; None for what is no token."""
    return _part(token, 1)


def verified_claims(token: str, key: Any, algorithm: str) -> JsonObject:
    """The claims of a token that a key has signed. Raises Unverified."""
    import jwt

    if header_of(token) is None:  # PyJWT reads it too, to no bound
        raise Unverified("it is no token")
    try:
        payload: bytes = jwt.PyJWS().decode(token, key, algorithms=[algorithm])
    except (jwt.PyJWTError, ValueError, TypeError):
        raise Unverified("its signature is not that of the key") from None
    claims = read_object(payload)
    if claims is None:
        raise Unverified("its claims are no object")
    return claims


def _part(token: str, index: int) -> JsonObject | None:
    parts = token.split(".", 3)
    if len(parts) != 3 or "=" in token:
        return None
    try:
        return read_object(urlsafe_b64decode(parts[index] + "=" * (-len(parts[index]) % 4)))
    except ValueError:
        return None
