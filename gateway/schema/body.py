"""JSON bodies: parsed by a fast parser, and by one that behaves exactly as Go's decoder where the two would differ.

They differ for duplicate keys, invalid UTF-8, lone surrogates, deep nesting and numbers whose text matters.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import orjson

from gateway.jsontypes import JsonObject
from gateway.schema.errors import DecodeError
from gateway.schema.exact import Number, PairsObject, pairs
from gateway.time_limits import TakesLong, on_loop

__all__ = ["Body", "DecodeError", "parse_body", "parse_exactly", "parse_to_decode", "plain"]

SLOWLY = 16 * 1024
"""Bytes that are read exactly on an event loop: one of them takes fifty times as long as one that is read fast."""
MAX_PROBLEMS = 100
MAX_TOLD = 1000
"""How often a problem's path is written out to see whether it is a new one."""

Path = tuple[Any, str | int] | None
"""Where a value is: where its container is and its key or index there. Made text when there is something to tell."""


class Body(dict[str, Any]):
    """The object of a request, with the bytes that it was parsed from; `decode` goes back to them when it has to.

    `too_large` is the text of its first number that no float64 can hold; empty if there is none. `decode` refuses it.
    """

    __slots__ = ("duplicates", "raw", "too_large")

    def __init__(self, value: JsonObject, raw: bytes, duplicates: bool = False, too_large: str = "") -> None:
        super().__init__(value)
        self.raw, self.duplicates, self.too_large = raw, duplicates, too_large


def parse_body(data: bytes, float_place: str = "value") -> tuple[Any, list[str]]:
    """The value that JSON bytes hold, and the duplicate fields as strict decoding words them.

    An object comes as `Body`. Raises DecodeError for what is no JSON, with Go's wording, and for a number that no
    float64 can hold, whose place the error calls `float_place`: such a number would be taken for infinity.
    """
    return _parse(data, float_place)


def parse_to_decode(data: bytes) -> tuple[Any, list[str]]:
    """As `parse_body`, of what goes to `decode` as it is.

    That knows which field a number is for, and refuses one that no float64 can hold in the words for that field.
    """
    return _parse(data, "")


def _parse(data: bytes, float_place: str) -> tuple[Any, list[str]]:
    try:
        value = orjson.loads(data)
        written = orjson.dumps(value)
    except (ValueError, TypeError):  # no JSON, or nested more deeply than orjson reads or writes
        return _parse_slowly(data, float_place)
    if type(value) is not dict and type(value) is not list:
        return value, []
    # A key that was dropped is missing when the value is written anew. Where that gives other bytes for other reasons
    # (white space, escapes), quotation marks are counted: every string has two, and only \u0022 makes them more.
    if data.startswith(written) or (data.count(b'"') == written.count(b'"') and b"\\u0022" not in data):
        return Body(value, data) if type(value) is dict else value, []
    return _parse_slowly(data, float_place)


def parse_exactly(data: bytes, spell: Callable[[str, str], str] | None = None) -> Any:
    """The value with `PairsObject` for objects and `Number` for numbers that are no plain integers.

    `spell` gives what stands for a text, of how it is written and what that means. Raises TakesLong for much on a loop.
    """
    if len(data) > SLOWLY and on_loop():
        raise TakesLong
    from gateway.schema.go_json import parse

    return parse(data, spell)


def _parse_slowly(data: bytes, float_place: str) -> tuple[Any, list[str]]:
    exact = parse_exactly(data)
    number = too_large(exact)
    if number and float_place:
        raise not_a_float(number, float_place)
    found: list[str] = []
    _find_duplicates(exact, found)
    value = plain(exact)
    return (Body(value, data, bool(found), number) if isinstance(value, dict) else value), found


def not_a_float(number: str, place: str = "value") -> DecodeError:
    """What is said of a number that no float64 can hold; `number` is how it is written."""
    return DecodeError(f"json: cannot unmarshal number {number} into Go {place} of type float64")


def too_large(value: Any) -> str:
    """The first number that no float64 can hold, as it is written; empty if there is none."""
    todo = [value]
    while todo:
        value = todo.pop()
        if type(value) is Number:
            if not isfinite(float(value)):
                return value.text
        elif isinstance(value, dict):
            todo += [item for _, item in reversed(tuple(pairs(value)))]
        elif isinstance(value, list):
            todo += reversed(value)
    return ""


def _find_duplicates(value: Any, found: list[str]) -> None:
    """Adds the keys that an object has twice to `found`, in the order of the document."""
    told = 0
    todo: list[tuple[Any, Path, bool]] = [(value, None, False)]
    while todo:
        value, path, repeated = todo.pop()
        if repeated:
            text = f"duplicate field {quoted(path_text(path))}"
            if text not in found:
                found.append(text)
            told += 1
            if len(found) >= MAX_PROBLEMS or told >= MAX_TOLD:
                return
        inner: list[tuple[Any, Path, bool]] = []
        if isinstance(value, list):
            inner = [(item, (path, index), False) for index, item in enumerate(value) if _can_have_keys(item)]
        elif isinstance(value, PairsObject):
            seen: set[str] = set()
            for key, item in value.pairs:
                if key in seen or _can_have_keys(item):
                    inner.append((item, (path, key), key in seen))
                seen.add(key)
        todo += reversed(inner)


def _can_have_keys(value: Any) -> bool:
    return isinstance(value, dict | list)


def path_text(path: Path) -> str:
    """A path as strict errors have it: `spec.ports[0].name`."""
    pieces: list[str] = []
    while path is not None:
        path, piece = path
        pieces.append(f"[{piece}]" if isinstance(piece, int) else f".{piece}")
    return "".join(reversed(pieces)).removeprefix(".")


def plain(value: Any) -> Any:
    """A value as ordinary dicts and numbers, however deep."""
    holder = [value]
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        container, place = todo.pop()
        item = container[place]
        if type(item) is Number:
            container[place] = float(item)
        elif isinstance(item, dict):
            item = container[place] = dict(item)
            todo += [(item, key) for key in item]
        elif isinstance(item, list):
            item = container[place] = list(item)
            todo += [(item, index) for index in range(len(item))]
    return holder[0]


def quoted(text: str) -> str:
    """A text as Go's %q has it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    from gateway.schema.go_json import quote

    return quote(text)
