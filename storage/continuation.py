"""Continue tokens in kube-apiserver's format, so that either server goes on with the other's.

A token is unpadded base64url of `{"v":"meta.k8s.io/v1","rv":REVISION,"start":KEY}` where KEY is relative to the listed
prefix. Revision -1 means "at the latest version": what an expired token's answer offers (API Concepts, "Retrieving
large results sets in chunks").
"""

from __future__ import annotations

import base64
import binascii
import json
import posixpath

INCONSISTENT = -1
_VERSION = "meta.k8s.io/v1"


class InvalidToken(ValueError):
    """The token can't be used; the message is kube-apiserver's."""


def encode(key: bytes, prefix: bytes, revision: int) -> str:
    """A token that goes on at `key` (below `prefix`) at a revision."""
    document = {"v": _VERSION, "rv": revision, "start": key[len(prefix) :].decode()}
    return base64.urlsafe_b64encode(json.dumps(document, separators=(",", ":")).encode()).rstrip(b"=").decode()


def decode(token: str, prefix: bytes) -> tuple[bytes, int]:
    """The key to go on at and the revision. Raises InvalidToken; never leads outside of `prefix`."""
    version, revision, start = _parts(token)
    if version != _VERSION:
        raise InvalidToken(f"continue key is not valid: server does not recognize this encoded version {version}")
    if revision == 0:
        raise InvalidToken("continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not start:
        raise InvalidToken("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
    rooted = start if start.startswith("/") else "/" + start
    if posixpath.normpath(rooted) != rooted or rooted.startswith("//"):
        raise InvalidToken(f"continue key is not valid: {start}")
    return prefix + rooted[1:].encode(), revision


def _parts(token: str) -> tuple[str, int, str]:
    try:
        data = _base64(token)
        document = json.loads(data)
    except ValueError as error:
        raise InvalidToken(f"continue key is not valid: {error}") from None
    if not isinstance(document, dict):
        raise InvalidToken(f"continue key is not valid: json: cannot unmarshal {_kind(document)} into Go value of type storage.continueToken")
    found = []
    for name, kind, go in (("v", str, "string"), ("rv", int, "int64"), ("start", str, "string")):
        value = document.get(name)
        if value is None:
            value = kind()
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InvalidToken(
                f"continue key is not valid: json: cannot unmarshal {_kind(value)} into Go struct field continueToken.{name} of type {go}"
            )
        found.append(value)
    return found[0], found[1], found[2]


def _base64(token: str) -> bytes:
    """Strict unpadded base64url, with Go's message for the first bad byte."""
    for at, char in enumerate(token):
        if not (char.isascii() and (char.isalnum() or char in "-_")):
            raise ValueError(f"illegal base64 data at input byte {at}")
    try:
        return base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except binascii.Error:
        raise ValueError(f"illegal base64 data at input byte {len(token) // 4 * 4}") from None


def _kind(value: object) -> str:
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
