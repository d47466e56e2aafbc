"""Parses decimal integers of 64 bits, as Go's strconv does. The text may come from a client and have any length.

Python's int() takes time that grows with the square of the length, and refuses more than 4 300 digits.
"""

from __future__ import annotations

MOST, LEAST = (1 << 63) - 1, -(1 << 63)
_DIGITS = 19  # of the greatest number of 64 bits
_MOST_UNSIGNED = (1 << 64) - 1
_NO_SYNTAX, _OUT_OF_RANGE = "invalid syntax", "value out of range"


def is_integer(text: str) -> bool:
    """Whether a text is a decimal integer of any length: digits, with a sign or without."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    return digits.isascii() and digits.isdigit()


def clamped(text: str) -> int:
    """The number of an `is_integer` text. A number beyond int64 becomes MOST + 1, or LEAST - 1 if it is negative."""
    negative = text[:1] == "-"
    digits = (text[1:] if text[:1] in ("+", "-") else text).lstrip("0")
    value = 0 if not digits else int(digits) if len(digits) <= _DIGITS else MOST + 2
    return max(-value, LEAST - 1) if negative else min(value, MOST + 1)


def int64(text: str) -> int | None:
    """The number; None for a text that is not a decimal integer of 64 bits."""
    if not is_integer(text):
        return None
    value = clamped(text)
    return value if LEAST <= value <= MOST else None


def parse_int(text: str) -> int:
    """As strconv.ParseInt in base 10 and 64 bits. Raises ValueError with Go's words."""
    if not is_integer(text):
        raise ValueError(_NO_SYNTAX)
    value = clamped(text)
    if not LEAST <= value <= MOST:
        raise ValueError(_OUT_OF_RANGE)
    return value


def parse_uint(text: str) -> int:
    """As strconv.ParseUint in base 10 and 64 bits. Raises ValueError with Go's words."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError(_NO_SYNTAX)
    digits = text.lstrip("0") or "0"
    value = int(digits) if len(digits) <= _DIGITS + 1 else _MOST_UNSIGNED + 1
    if value > _MOST_UNSIGNED:
        raise ValueError(_OUT_OF_RANGE)
    return value
