"""Parses and verifies JSON web tokens (RFC 7519).

PyJWT verifies signatures. The server's own JSON reader parses header and claims; its strings are valid Unicode.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import Any

from gateway.jsontypes import JsonObject
from gateway.schema.outside import read_object


class UnverifiedToken(ValueError):
    """The text is not a token, or the key has not signed it."""


def header_of(token: str) -> JsonObject | None:
    """The header of a token; None if the text is not a JSON web token."""
    return _part(token, 0)


def untrusted_claims(token: str) -> JsonObject | None:
    """The claims of a token, not verified; None if the text is not a JSON web token."""
    return _part(token, 1)


def verified_claims(token: str, key: Any, algorithm: str) -> JsonObject:
    """The claims of a token, after verification with a key. Raises Unverified."""
    import jwt

    if header_of(token) is None:  # PyJWT parses the header too, but without limits
        raise UnverifiedToken("it is not a token")
    try:
        payload: bytes = jwt.PyJWS().decode(token, key, algorithms=[algorithm])
    except (jwt.PyJWTError, ValueError, TypeError):
        raise UnverifiedToken("its signature is not that of the key") from None
    claims = read_object(payload)
    if claims is None:
        raise UnverifiedToken("its claims are not an object")
    return claims


def _part(token: str, index: int) -> JsonObject | None:
    parts = token.split(".", 3)
    if len(parts) != 3 or "=" in token:
        return None
    try:
        return read_object(urlsafe_b64decode(parts[index] + "=" * (-len(parts[index]) % 4)))
    except ValueError:
        return None
