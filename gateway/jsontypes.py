"""The JSON values that the gateway passes around, and how they are read and written.

Objects travel as plain dicts in the served version's JSON form. `loads` and `dumps` are the only JSON
functions on request paths; both work on bytes. What is written has Go's escapes, as in kube-apiserver's answers and in
the JSON that it stores: texts of <, > and & can stand in HTML.
"""

import json
import operator
import re
from decimal import Decimal
from typing import Any

import orjson

from storage.escapes import escaped, escaped_text

JsonObject = dict[str, Any]

MAX_DEPTH = 500
"""How deeply a JSON value may be nested: code that walks it recurses, and Python's stack is smaller than Go's."""
MOST_COLLECTIONS = 300_000
"""The most arrays and objects in a document from outside: to free them, or to look through them for garbage, is one
step that keeps the GIL, for 100 ns each."""
MOST_NAMES = 100_000
"""The most members of one object from outside: to sort their names is one step, too, for 250 to 370 ns each. With half
as many again, some such steps would take more than 50 ms."""
MOST_AT_ONCE = 2 * MOST_NAMES
"""The most members, as `members` counts them, of JSON from outside that the fast parser reads. It keeps the GIL in a
thread, too, for 75 ns each, or up to 190 ns in lists of short lists, and three times as long on a busy machine. An
object of MOST_NAMES has so many."""

loads = orjson.loads

_SMALL, _LARGE = 1e-6, 1e21  # between which Go writes a float64 without an exponent

_MILLIONTHS = re.compile(rb"[0-9]e-6")  # a float below 0.00001; a string may match too
_EXPONENT = re.compile(rb"[0-9]e(?:-6|\+(?:1[6-9]|20))")  # one that Go does not write; a string may match too


class Whole(int):
    """A whole number that a client sent as a float (3.0, 1e3): Go writes it as an integer, but validates a float."""

    __slots__ = ()


class TooDeep(ValueError):
    """A value that is nested more deeply than `MAX_DEPTH`."""


def members(data: bytes | bytearray) -> int:
    """How many members and items JSON may have: characters that begin or end one, also those in strings."""
    return len(data) - len(data.translate(None, b",:[{"))


def by_name(value: JsonObject) -> JsonObject:
    """An object with its members in the order of their names. To sort the members with their values takes longer."""
    return {name: value[name] for name in sorted(value)}


def sorted_by_name(value: Any) -> Any:
    """A JSON value with the members of all objects in the order of their names. Parts in that order are shared."""
    if isinstance(value, dict):
        names = list(value)
        ordered = sorted(names)
        made: Any = {name: sorted_by_name(value[name]) for name in ordered}
        same = ordered == names and all(made[name] is value[name] for name in names)
    elif isinstance(value, list):
        made = list(map(sorted_by_name, value))
        same = all(map(operator.is_, made, value))
    else:
        return value
    return value if same else made


def read_at_once(data: bytes | bytearray) -> bool:
    """Whether one call of the fast parser may read JSON from outside.

    Three bytes of JSON have at most two members, as `[],` has. More of such characters are in texts, or are not JSON.
    """
    return len(data) <= MOST_AT_ONCE * 3 // 2 or members(data) <= MOST_AT_ONCE


def dumps(value: Any) -> bytes:
    """Encodes a JSON value compactly, as UTF-8 bytes with Go's escapes. Raises TooDeep."""
    try:
        return escaped(orjson.dumps(value))
    except orjson.JSONEncodeError:
        return escaped(_dumped_deeply(value))


def dumps_plain(value: Any) -> bytes:
    """As `dumps`, without escapes of <, > and &: for texts that no Go encoder writes, and for sizes and orders."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return _dumped_deeply(value)


def go_escaped(text: str) -> str:
    """JSON as Go's encoding/json writes it, which escapes <, > and &, so that JSON may stand in HTML."""
    return escaped_text(text)


def go_dumps(value: Any) -> str:
    """A JSON value as Go's encoding/json writes it: compactly, with the members in their present order."""
    return go_escaped(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def json_float(number: float) -> str:
    """A float64 as encoding/json writes it: without an exponent unless it is very small or very large."""
    if number == 0 or _SMALL <= abs(number) < _LARGE:
        text = _without_exponent(number)
        return text.rstrip("0").removesuffix(".") if "." in text else text
    digits, _, exponent = repr(number).partition("e")
    return f"{digits.removesuffix('.0')}e{int(exponent):+d}"


def _without_exponent(number: float) -> str:
    return format(Decimal(repr(number)), "f")


def dumps_indented(value: Any) -> bytes:
    """Encodes a JSON value for people, indented by two spaces. Raises TooDeep.

    Numbers have an exponent where Go writes one. The parser of JSON makes floats of integers beyond 64 bits.
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        return escaped(_dumped_deeply(value, indent=2, separators=(",", ": ")))
    if (b"e-6" in text or b"e+" in text) and _EXPONENT.search(text) is not None:
        text = orjson.dumps(_written_out(value), option=orjson.OPT_INDENT_2)
    return escaped(text)


def dump_line(value: Any) -> bytes:
    """Encodes a JSON value as an answer's body: compactly, with a newline at the end as kube-apiserver has it."""
    return dumps(value) + b"\n"


def dumps_with_floats(value: Any) -> bytes:
    """As `dumps`, but floats from 0.000001 to 0.00001 have no exponent, as Go writes them.

    In a value that is too deep for orjson, floats stay as Python writes them. Raises TooDeep.
    """
    try:
        text = orjson.dumps(value)
    except orjson.JSONEncodeError:
        return escaped(_dumped_deeply(value))
    if b"e-6" in text and _MILLIONTHS.search(text) is not None:
        text = orjson.dumps(_written_out(value))
    return escaped(text)


def _written_out(value: Any) -> Any:
    if type(value) is float and (_SMALL <= abs(value) < 1e-5 or 1e16 <= abs(value) < _LARGE):
        return orjson.Fragment(_without_exponent(value))
    if isinstance(value, dict):
        return {key: _written_out(item) for key, item in value.items()}
    return [_written_out(item) for item in value] if isinstance(value, list) else value


def _dumped_deeply(value: Any, **layout: Any) -> bytes:
    """Encodes a value that has more than the 254 levels of orjson. Raises TooDeep."""
    if depth(value) > MAX_DEPTH:
        raise TooDeep(f"exceeded max depth of {MAX_DEPTH}")
    return json.dumps(value, ensure_ascii=False, **{"separators": (",", ":"), **layout}).encode()


def identical(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON. Python's == does not tell: to it 1, 1.0 and true are equal.

    Go reads an integer beyond 64 bits as a float64, so such an integer is identical to its float.
    """
    if one == other and dumps_sorted(one) == dumps_sorted(other):
        return True
    return (_has_large(one) or _has_large(other)) and _identical_as_read(one, other)


def _has_large(value: Any) -> bool:
    """Whether a value may have integers beyond 64 bits: orjson in strict mode refuses all beyond 53 bits."""
    try:
        orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError:
        return True
    return False


def _identical_as_read(one: Any, other: Any) -> bool:
    todo = [(one, other)]
    while todo:
        a, b = todo.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            todo += [(value, b[name]) for name, value in a.items()]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            todo += zip(a, b, strict=True)
        elif isinstance(a, dict | list) or isinstance(b, dict | list) or _written_as_read(a) != _written_as_read(b):
            return False
    return True


def as_read(value: Any) -> Any:
    """The value with floats in the place of integers beyond 64 bits, as Go reads them."""
    return _floats_of_large(value) if _has_large(value) else value


def _floats_of_large(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _floats_of_large(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_floats_of_large(item) for item in value]
    return float(value) if type(value) is int and abs(value) >= 1 << 63 else value


def _written_as_read(value: Any) -> bytes:
    """`value` is neither an object nor an array."""
    large = isinstance(value, int) and abs(value) >= 1 << 63
    return orjson.dumps(float(value) if large else value)


def dumps_sorted(value: Any) -> bytes:
    """A JSON value with the members of objects in the order of their names. Raises TooDeep."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return _dumped_deeply(value, sort_keys=True)


def depth(value: Any) -> int:
    """How many arrays and objects are nested in a value, itself included."""
    levels, level = 0, [value]
    while level := [each for each in level if isinstance(each, dict | list)]:
        levels += 1
        level = [item for each in level for item in (each.values() if isinstance(each, dict) else each)]
    return levels
