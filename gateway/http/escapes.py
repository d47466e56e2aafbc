"""Percent-encoding in URLs (RFC 3986 section 2.1), in time that grows with their length and not much."""

from __future__ import annotations

import re

_INVALID = re.compile(rb"%(?![0-9a-fA-F]{2})").search


def valid_escapes(raw: bytes) -> bool:
    """Whether every % is followed by two hexadecimal digits."""
    return b"%" not in raw or _INVALID(raw) is None


def unescaped(raw: bytes) -> str:
    """What valid escapes stand for, as UTF-8; bytes that are none become U+FFFD."""
    if b"%" in raw:
        # the same in Python's own escapes, which are decoded without a step for each
        raw = raw.replace(b"\\", b"\\\\").replace(b"%", b"\\x").decode("unicode_escape").encode("latin-1")
    return raw.decode("utf-8", "replace")
