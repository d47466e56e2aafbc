"""Parses JSON bodies with a fast parser, and with one that behaves exactly as Go's decoder where the two would differ.

They differ for duplicate keys, invalid UTF-8, lone surrogates, deep nesting and numbers whose text matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any

import orjson

from gateway.jsontypes import JsonObject, read_at_once
from gateway.schema.errors import DecodeError
from gateway.schema.exact import Number, PairsObject, pairs
from gateway.time_limits import TakesLong, on_loop

__all__ = ["Body", "DecodeError", "parse_body", "parse_exactly", "parse_to_decode", "plain"]

SLOWLY = 16 * 1024
"""The most bytes that the exact parser reads on an event loop: it takes some fifty times as long as the fast one."""
_BITS = 1024  # an integer of so many has no float64; no parser makes one
_LEAST, _MOST = -(1 << 63), (1 << 64) - 1  # the integers of the fast parser
MAX_PROBLEMS = 100
MAX_TOLD = 1000
"""How many problems of one body are worded, to see whether they are new ones: many may have the same text."""
MOST_TEXT = 1 << 18
"""The most characters that they are worded with, beyond those of the last one: each may name the same long key."""

Path = tuple[Any, str | int] | None
"""Where a value is: the path of its container, and its key or index there. It becomes text only for an error."""


class Body(dict[str, Any]):
    """The object of a request body, with the bytes that it was parsed from. `decode` parses them again for errors.

    `duplicates` says whether keys are repeated. `too_large` is the text of the first number that no float64 can hold,
    or "". `decode` refuses such a number.
    """

    __slots__ = ("duplicates", "raw", "too_large")

    def __init__(self, value: JsonObject, raw: bytes, duplicates: bool = False, too_large: str = "") -> None:
        super().__init__(value)
        self.raw, self.duplicates, self.too_large = raw, duplicates, too_large


def parse_body(data: bytes, float_place: str = "value") -> tuple[Any, list[str]]:
    """Returns the value of JSON bytes, and its duplicate fields in the words of strict decoding.

    An object is returned as `Body`. Raises DecodeError, in Go's words, for invalid JSON and for a number that no
    float64 can hold, which would become infinity. The error calls the place of the number `float_place`. Raises
    TakesLong on an event loop for a long body that needs the exact parser.
    """
    return _parse(data, float_place)


def parse_to_decode(data: bytes) -> tuple[Any, list[str]]:
    """As `parse_body`, for a value that goes to `decode` unchanged.

    A number that no float64 can hold is accepted here: `decode` refuses it, with the name of its field.
    """
    return _parse(data, "")


def _parse(data: bytes, float_place: str) -> tuple[Any, list[str]]:
    if not read_at_once(data):
        return _parse_slowly(data, float_place)
    try:
        value = orjson.loads(data)
        written = orjson.dumps(value)
    except (ValueError, TypeError):  # invalid JSON, or nested more deeply than orjson reads or writes
        return _parse_slowly(data, float_place)
    if type(value) is not dict and type(value) is not list:
        return value, []
    # orjson drops repeated keys: then they are missing when the value is written again. Other bytes may also differ
    # (white space, escapes), so quotation marks are counted: each string has two, and only \u0022 adds some.
    if data.startswith(written) or (
        data.count(b'"') == written.count(b'"')
        and (b"\\" not in data or b"\\u0022" not in data)  # to look for one byte takes less than half the time
    ):
        return Body(value, data) if type(value) is dict else value, []
    del value, written  # the exact parser needs the memory
    return _parse_slowly(data, float_place)


def parse_exactly(data: bytes, spell: Callable[[str, str], str] | None = None) -> Any:
    """The value with `PairsObject` for objects and `Number` for numbers that are not plain integers.

    `spell` makes the value for a string, as `go_json.Spell` says. Raises DecodeError for invalid JSON, and TakesLong on
    an event loop for more than SLOWLY bytes.
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
    found = _duplicates(exact)
    value = plain(exact, spend=True)
    return (Body(value, data, bool(found), number) if isinstance(value, dict) else value), found


def not_a_float(number: str, place: str = "value") -> DecodeError:
    """The error for a number that no float64 can hold; `number` is its text."""
    return DecodeError(f"json: cannot unmarshal number {number} into Go {place} of type float64")


def too_large(value: Any) -> str:
    """The text of the first number in a `parse_exactly` value that no float64 can hold; "" if there is none."""
    todo: list[Iterator[Any]] = [iter((value,))]
    while todo:
        for item in todo[-1]:
            if type(item) is Number:
                if not isfinite(float(item)):
                    return item.text
            elif item and isinstance(item, dict | list):
                todo.append(_values(item))
                break
        else:
            todo.pop()
    return ""


def _values(value: dict[str, Any] | list[Any]) -> Iterator[Any]:
    return (item for _, item in pairs(value)) if isinstance(value, dict) else iter(value)


def has_infinity(value: Any) -> bool:
    """Whether plain JSON holds a number that no float64 can hold."""
    todo = [value]
    while todo:
        value = todo.pop()
        if type(value) is float:
            if not isfinite(value):
                return True
        elif isinstance(value, dict | list):
            todo += [item for item in _values(value) if item and isinstance(item, float | dict | list)]
    return False


class Problems:
    """The texts of a body's problems, each once, in the order in which they are found. They are few and short."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._left, self._characters = MAX_TOLD, MOST_TEXT

    @property
    def full(self) -> bool:
        """Whether no other problem is worded."""
        return len(self.texts) >= MAX_PROBLEMS or self._left <= 0 or self._characters <= 0

    def add(self, what: str, path: Path) -> str:
        """Words a problem of the value at `path`, and returns the text; "" if it is known, or if this is full."""
        if self.full:
            return ""
        text = f"{what} {quoted(path_text(path))}"
        self._left -= 1
        self._characters -= len(text)
        if text in self.texts:
            return ""
        self.texts.append(text)
        return text


def _duplicates(value: Any) -> list[str]:
    """Messages about repeated keys, in the order of the document, each once."""
    found = Problems()
    todo = [_places(value, None)]
    while todo:
        for item, path, repeated in todo[-1]:
            if repeated:
                found.add("duplicate field", path)
                if found.full:
                    return found.texts
            if _can_have_keys(item):
                todo.append(_places(item, path))
                break
        else:
            todo.pop()
    return found.texts


def _places(value: Any, path: Path) -> Iterator[tuple[Any, Path, bool]]:
    """The items of a list or object that may hold keys, and those of repeated keys; with their places."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if _can_have_keys(item):
                yield item, (path, index), False
    elif isinstance(value, PairsObject):
        seen: set[str] = set()
        for key, item in value.pairs:
            if key in seen or _can_have_keys(item):
                yield item, (path, key), key in seen
            seen.add(key)


def _can_have_keys(value: Any) -> bool:
    return bool(value) and isinstance(value, dict | list)


def path_text(path: Path) -> str:
    """A path as strict errors show it: `spec.ports[0].name`."""
    pieces: list[str] = []
    while path is not None:
        path, piece = path
        pieces.append(f"[{piece}]" if isinstance(piece, int) else f".{piece}")
    return "".join(reversed(pieces)).removeprefix(".")


def plain(value: Any, *, spend: bool = False, digits: bool = False) -> Any:
    """A `parse_exactly` value as the fast parser reads it: with ordinary dicts, and floats, also for integers beyond 64
    bits. Works without recursion, for deep values.

    With `spend`, the objects of `value` become empty: they are not in memory together with their copies. With `digits`,
    which are for messages, integers stay as they are.
    """
    holder = [value]
    todo: list[Any] = [holder]
    while todo:
        container = todo.pop()
        for place, item in container.items() if type(container) is dict else enumerate(container):
            if type(item) is Number:
                container[place] = float(item)
            elif type(item) is int:
                if not digits and not _LEAST <= item <= _MOST and item.bit_length() < _BITS:
                    container[place] = float(item)
            elif isinstance(item, dict):
                made: Any = item.spent() if spend and type(item) is PairsObject else dict(item)
                container[place] = made
                if made:
                    todo.append(made)
            elif isinstance(item, list):
                container[place] = made = item if spend else list(item)
                if made:
                    todo.append(made)
    return holder[0]


def quoted(text: str) -> str:
    """A text as Go's %q writes it."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    from gateway.schema.go_json import quote

    return quote(text)
