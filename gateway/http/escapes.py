"""Percent-encoding in URLs (RFC 3986 section 2.1), decoded in linear time with a small factor; and escapes of HTML."""

from __future__ import annotations

_SUBSTITUTE = "\x1a"  # a control character, which no header may contain
_DIGITS = b"0123456789abcdefABCDEF"
_ESCAPED = 0xDC00  # Python's surrogateescape adds it to a byte that is not UTF-8
_KINDS = bytes(b"%"[0] if byte == b"%"[0] else b"0"[0] if byte in _DIGITS else b"x"[0] for byte in range(256))


def text_of(value: bytes) -> str:
    """A header's value as text, without the white space around it, as in Go.

    A byte that is not UTF-8 becomes a control character and two hexadecimal digits. So different values never become
    the same text, which could be a user's name.
    """
    value = value.strip(b" \t")
    try:
        return value.decode()
    except UnicodeDecodeError:
        kept = value.decode("utf-8", "surrogateescape")
        return "".join(
            f"{_SUBSTITUTE}{ord(each) - _ESCAPED:02x}" if "\udc80" <= each <= "\udcff" else each for each in kept
        )


def html_escaped(text: str) -> str:
    """A text whose &, < and > a browser shows and does not read as HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def valid_escapes(raw: bytes) -> bool:
    """Whether every % is followed by two hexadecimal digits."""
    count = raw.count(b"%")
    return not count or raw.translate(_KINDS).count(b"%00") == count


def unescaped(raw: bytes) -> str:
    """Decodes valid percent-escapes, then UTF-8; bytes that are not UTF-8 become U+FFFD."""
    if b"%" in raw:
        # rewritten as Python escapes (\x41), which C code decodes all at once
        raw = raw.replace(b"\\", b"\\\\").replace(b"%", b"\\x").decode("unicode_escape").encode("latin-1")
    return raw.decode("utf-8", "replace")
