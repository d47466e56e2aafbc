"""Percent-encoding in URLs (RFC 3986 section 2.1), in time that grows with their length and not much."""

from __future__ import annotations

_DIGITS = b"0123456789abcdefABCDEF"
_KINDS = bytes(b"%"[0] if byte == b"%"[0] else b"0"[0] if byte in _DIGITS else b"x"[0] for byte in range(256))


def valid_escapes(raw: bytes) -> bool:
    """Whether every % is followed by two hexadecimal digits."""
    count = raw.count(b"%")
    return not count or raw.translate(_KINDS).count(b"%00") == count


def unescaped(raw: bytes) -> str:
    """What valid escapes stand for, as UTF-8; bytes that are none become U+FFFD."""
    if b"%" in raw:
        # the same in Python's own escapes, which are decoded without a step for each
        raw = raw.replace(b"\\", b"\\\\").replace(b"%", b"\\x").decode("unicode_escape").encode("latin-1")
    return raw.decode("utf-8", "replace")
