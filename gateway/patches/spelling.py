"""How a patch spells values in JSON. A `test` compares the spelling of strings, and error messages quote it.

The document has the spelling of Go's encoder (`<` is `\\u003c`). Values from the patch keep the client's spelling.
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
    """A string that the client spelt differently from Go's encoder. `raw` is its JSON text without quotation marks."""

    __slots__ = ("raw",)

    raw: str


def as_spelt(body: bytes) -> Any:
    """The operations of a JSON patch with `Spelt` strings; None if no `test` can depend on the spelling.

    Raises DecodeError, and TakesLong on an event loop for a body of more than 16 KiB.
    """
    if b'"test"' not in body or not any(special in body for special in _SPECIAL):
        return None
    return plain(parse_exactly(body, _spelt))


def as_quoted(body: bytes) -> Any:
    """The patch as `parse_exactly` reads it, with `Spelt` strings for messages. Raises as that does."""
    return parse_exactly(body, _spelt)


def same_spelling(one: Any, other: Any) -> bool:
    """Whether all strings in two equal values have the same spelling."""
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
    """The JSON of a value from `parse_exactly`: numbers keep their digits, objects their repeated members.

    A value of more than 100 levels keeps neither digits nor repeated members.
    """
    return dumps(plain(value, digits=True)) if depth(value) > _DEEP else _written(value)


def _written(value: Any) -> bytes:
    try:
        return orjson.dumps(value, _fragment, orjson.OPT_PASSTHROUGH_SUBCLASS)
    except orjson.JSONEncodeError:  # a number of more than 64 bits
        return dumps(plain(value, digits=True))


def _fragment(value: Any) -> Any:
    if type(value) is Number:
        return orjson.Fragment(value.text)
    if type(value) is Spelt:
        return orjson.Fragment(f'"{value.raw}"')
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
