"""Go's escapes of JSON: encoding/json writes <, >, &, U+2028 and U+2029 in strings as \\u003c and so on.

JSON has these characters in strings alone, so that whole texts are escaped, without a look at their structure.
"""

from __future__ import annotations

_ESCAPES = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_OF_TEXT = str.maketrans(_ESCAPES)
_OF_BYTES = [(character.encode(), escape.encode()) for character, escape in _ESCAPES.items()]
_LESS, _GREATER, _AND, _SEPARATOR = b"<>&\xe2"
"""The bytes with which the characters begin in UTF-8: to look for a byte is faster than to look for bytes."""


def escaped(text: bytes) -> bytes:
    """JSON with Go's escapes; JSON that has them already, or needs none, is returned as it is."""
    if _LESS in text or _GREATER in text or _AND in text or _SEPARATOR in text:
        for character, escape in _OF_BYTES:
            text = text.replace(character, escape)
    return text


def escaped_text(text: str) -> str:
    """As `escaped`, for a string."""
    return text.translate(_OF_TEXT)
