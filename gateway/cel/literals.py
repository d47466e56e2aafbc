"""The values of string and bytes literals (cel-spec, "String and Bytes Values")."""

from __future__ import annotations

import re

_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, "'": 39, '"': 34, "`": 96, "?": 63}
_LENGTHS = {"x": 2, "X": 2, "u": 4, "U": 8}
_HEX = re.compile(r"[0-9a-fA-F]+")
_OCTAL = re.compile(r"[0-3][0-7]{2}")


def integer(text: str) -> int:
    """The number of a literal without its suffix `u`. Python reads no more than 4300 decimal digits; so long a literal
    becomes a number that is out of range.
    """
    try:
        return int(text, 16 if "0x" in text[:3] else 10)
    except ValueError:
        return 1 << 64


def unquote(text: str) -> str:
    """The string of a literal with its quotes. Raises ValueError with cel-go's message."""
    raw, body = _body(text)
    if raw or "\\" not in body:
        return body
    parts, rest = list[str](), body
    while rest:
        before, backslash, rest = rest.partition("\\")
        parts.append(before)
        if backslash:
            code, rest = _escape(rest, binary=False)
            parts.append(chr(code))
    return "".join(parts)


def unquote_bytes(text: str) -> bytes:
    """The bytes of a bytes literal without its prefix `b`. Raises ValueError with cel-go's message."""
    raw, body = _body(text)
    if raw or "\\" not in body:
        return body.encode()
    parts, rest = bytearray(), body
    while rest:
        before, backslash, rest = rest.partition("\\")
        parts += before.encode()
        if backslash:
            code, rest = _escape(rest, binary=True)
            parts.append(code & 0xFF)
    return bytes(parts)


def _body(text: str) -> tuple[bool, str]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quotes = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    return raw, text[quotes:-quotes]


def _escape(rest: str, *, binary: bool) -> tuple[int, str]:
    """The code point of the escape sequence at the start of `rest`, and the text after it."""
    kind = rest[:1]
    if kind in _ESCAPES:
        return _ESCAPES[kind], rest[1:]
    if length := _LENGTHS.get(kind):
        digits = rest[1 : 1 + length]
        if (binary and length > 2) or len(digits) < length or not _HEX.fullmatch(digits):
            raise ValueError("unable to unescape string")
        return _valid(int(digits, 16), binary), rest[1 + length :]
    if _OCTAL.match(rest):
        return _valid(int(rest[:3], 8), binary), rest[3:]
    raise ValueError("unable to unescape string")


def _valid(code: int, binary: bool) -> int:
    if not binary and (code > 0x10FFFF or 0xD800 <= code <= 0xDFFF):
        raise ValueError("invalid unicode code point")
    return code
