"""Percent-encoding in URLs (RFC 3986 section 2.1), in time that grows with their length and not much."""

from __future__ import annotations

_SUBSTITUTE = "\x1a"  # which no header can have
_DIGITS = b"0123456789abcdefABCDEF"
_ESCAPED = 0xDC00  # what Python adds to a byte that is no UTF-8
_KINDS = bytes(b"%"[0] if byte == b"%"[0] else b"0"[0] if byte in _DIGITS else b"x"[0] for byte in range(256))


def text_of(value: bytes) -> str:
    """A header's value as text, without the white space around it, as Go has it.

    Bytes that are no UTF-8 become what no other header can say, and different ones for different bytes: names of users
    have to stay apart.
    """
    value = value.strip(b" \t")
    try:
        return value.decode()
    except UnicodeDecodeError:
        kept = value.decode("utf-8", "surrogateescape")
        return "".join(
            f"{_SUBSTITUTE}{ord(each) - _ESCAPED:02x}" if "\udc80" <= each <= "\udcff" else each for each in kept
        )


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
