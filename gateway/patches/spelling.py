"""How values are spelt in a patch: a `test` compares the texts that are written, and refusals quote what is written.

The document is JSON as Go writes it (`<` is `\\u003c` in it). What the patch has put into it is as the patch has it.
"""

from __future__ import annotations

from typing import Any

import orjson

from gateway.jsontypes import depth, dumps, go_escaped
from gateway.schema.body import parse_exactly, plain
from gateway.schema.exact import Number, PairsObject

_DEEP = 100
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


def written(value: Any) -> bytes:
    """JSON whose exact parts are as they were written: numbers with their digits, objects with all their members.

    Of what is deeper than objects of Kubernetes are, the meaning alone is kept.
    """
    return dumps(plain(value)) if depth(value) > _DEEP else _written(value)


def _written(value: Any) -> bytes:
    try:
        return orjson.dumps(value, _fragment, orjson.OPT_PASSTHROUGH_SUBCLASS)
    except orjson.JSONEncodeError:  # a number of more than 64 bits
        return dumps(plain(value))


def _fragment(value: Any) -> Any:
    if type(value) is Number:
        return orjson.Fragment(value.text)
    if type(value) is PairsObject:
        members = (orjson.dumps(key) + b":" + _written(item) for key, item in value.pairs)
        return orjson.Fragment(b"{" + b",".join(members) + b"}")
    return int(value) if isinstance(value, int) else str(value) if isinstance(value, str) else dict(value)


def _spelt(raw: str, text: str) -> str:
    if raw == go_escaped(dumps(text).decode())[1:-1]:
        return text
    found = Spelt(text)
    found.raw = raw
    return found
