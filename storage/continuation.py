"""Continue tokens in kube-apiserver's format, so that each server accepts the tokens of the other.

A token is unpadded base64url of `{"v":"meta.k8s.io/v1","rv":REVISION,"start":KEY}` where KEY is relative to the listed
prefix. Revision -1 means "at the latest version": the 410 answer to an expired token offers such a token (API Concepts,
"Retrieving large results sets in chunks").
"""

from __future__ import annotations

import base64
import binascii
import json
import posixpath
from typing import NoReturn

INCONSISTENT = -1
_INT64_LENGTH = 20  # characters of the smallest int64
_VERSION = "meta.k8s.io/v1"


class InvalidToken(ValueError):
    """The token can't be used; the message is kube-apiserver's."""


def encode(key: bytes, prefix: bytes, revision: int) -> str:
    """The token that continues a list at `key` (below `prefix`) and at a revision."""
    document = {"v": _VERSION, "rv": revision, "start": key[len(prefix) :].decode()}
    return base64.urlsafe_b64encode(json.dumps(document, separators=(",", ":")).encode()).rstrip(b"=").decode()


def decode(token: str, prefix: bytes) -> tuple[bytes, int]:
    """The key at which the list continues, and the revision. The key is always below `prefix`. Raises InvalidToken."""
    version, revision, start = _parts(token)
    if version != _VERSION:
        raise InvalidToken(f"continue key is not valid: server does not recognize this encoded version {version}")
    if revision == 0:
        raise InvalidToken(
            "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
        )
    if not start:
        raise InvalidToken("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
    rooted = start if start.startswith("/") else "/" + start
    if posixpath.normpath(rooted) != rooted or rooted.startswith("//"):
        raise InvalidToken(f"continue key is not valid: {start}")
    return prefix + rooted[1:].encode(), revision


def _parts(token: str) -> tuple[str, int, str]:
    try:
        document = json.loads(_text(_base64(token)), parse_int=_integer, parse_float=_Number, parse_constant=_no_value)
    except json.JSONDecodeError as error:
        raise InvalidToken(f"continue key is not valid: {_syntax_error(error)}") from None
    except RecursionError:
        raise InvalidToken("continue key is not valid: exceeded max depth") from None
    except ValueError as error:
        raise InvalidToken(f"continue key is not valid: {error}") from None
    if document is None:
        document = {}
    if not isinstance(document, dict):
        raise _mistyped(document, "value of type storage.continueToken")
    version, revision, start = (document.get(name) for name in ("v", "rv", "start"))
    for name, value, kind, go in (
        ("v", version, str, "string"),
        ("rv", revision, int, "int64"),
        ("start", start, str, "string"),
    ):
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool | _Number)):
            raise _mistyped(value, f"struct field continueToken.{name} of type {go}")
    return _whole(version or ""), revision or 0, _whole(start or "")


class _Number(str):
    """The text of a JSON number that is not an int64."""


def _integer(text: str) -> int | _Number:
    value = int(text) if len(text) <= _INT64_LENGTH else 1 << 63
    return value if -(1 << 63) <= value < 1 << 63 else _Number(text)


def _no_value(name: str) -> NoReturn:
    """Raises ValueError for NaN and Infinity, which Python's JSON parser accepts."""
    raise ValueError(f"invalid character '{name.removeprefix('-')[0]}' looking for beginning of value")


def _whole(text: str) -> str:
    """The text as Go decodes it: U+FFFD in place of half a surrogate pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _mistyped(value: object, target: str) -> InvalidToken:
    return InvalidToken(f"continue key is not valid: json: cannot unmarshal {_kind(value)} into Go {target}")


def _text(data: bytes) -> str:
    """Decoded UTF-8; invalid UTF-8 as Latin-1, since Go's JSON scanner reads bytes and names one in its message."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _syntax_error(error: json.JSONDecodeError) -> str:
    if error.pos >= len(error.doc):
        return "unexpected end of JSON input"
    char = error.doc[error.pos]
    shown = "'\\''" if char == "'" else f"'{char}'" if char.isprintable() else f"'\\u{ord(char):04x}'"
    where = "looking for beginning of value" if error.msg == "Expecting value" else "after top-level value"
    return f"invalid character {shown} {where}"


def _base64(token: str) -> bytes:
    """Decodes strict unpadded base64url. Raises ValueError with Go's message for the first bad byte."""
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
        case _Number():
            return f"number {value}"
        case int():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
