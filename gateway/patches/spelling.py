"""How the texts of a JSON patch are spelt: a `test` compares what is written, not what it means.

The document is JSON as Go writes it (`<` is `\\u003c` in it). What the patch has put into it is as the patch has it.
"""

from __future__ import annotations

from typing import Any

from gateway.jsontypes import GO_ESCAPES, dumps
from gateway.schema.body import parse_exactly, plain

_SPECIAL = tuple(character.encode() for character in "\\<>&\u2028\u2029")


class Spelt(str):
    """A text that is written otherwise than Go would write it: `raw` is how, without quotation marks."""

    __slots__ = ("raw",)

    raw: str


def as_spelt(body: bytes) -> Any:
    """The operations of a patch with `Spelt` texts; None where a `test` needs none.

    Raises DecodeError, and TakesLong for much on an event loop.
    """
    if b'"test"' not in body or not any(special in body for special in _SPECIAL):
        return None
    return plain(parse_exactly(body, _spelt))


def same_spelling(one: Any, other: Any) -> bool:
    """Whether the texts in two values that mean the same are written in the same way."""
    todo = [(one, other)]
    while todo:
        a, b = todo.pop()
        if isinstance(a, dict):
            todo += [(value, b[key]) for key, value in a.items()]
        elif isinstance(a, list):
            todo += zip(a, b, strict=True)
        elif isinstance(a, str) and getattr(a, "raw", None) != getattr(b, "raw", None):
            return False
    return True


def _spelt(raw: str, text: str) -> str:
    if raw == dumps(text).decode().translate(GO_ESCAPES)[1:-1]:
        return text
    found = Spelt(text)
    found.raw = raw
    return found
