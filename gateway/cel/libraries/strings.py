"""cel-go's string library (ext.Strings, version 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.cel.format_function import format_string
from gateway.cel.values import EvaluationError, StringList
from gateway.text.unicode import GO_SPACE

_LOWER = {code: code + 32 for code in range(65, 91)}
_UPPER = {code: code - 32 for code in range(97, 123)}
_SHORT = 1_000_000  # comparisons of characters: a millisecond
_QUOTED = str.maketrans(
    {7: "\\a", 8: "\\b", 12: "\\f", 10: "\\n", 13: "\\r", 9: "\\t", 11: "\\v", 92: "\\\\", 34: '\\"'}
)


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if offset is None:
        return _last(text, part, len(text))
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    if offset >= len(text):
        return -1
    return _last(text, part, min(offset + len(part), len(text)))


def _last(text: str, part: str, end: int) -> int:
    """Where a part begins last before `end`, -1 if it does not occur. rfind, unlike find, takes time by the product of
    the lengths: a minute for 800 kB.
    """
    if end * len(part) <= _SHORT:
        return text.rfind(part, 0, end)
    at = text[:end][::-1].find(part[::-1])
    return at if at < 0 else end - at - len(part)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    return text.replace(old, new, count if count >= 0 else -1)


def _split(text: str, separator: str, count: int = -1) -> StringList:
    if count == 0:
        return StringList()
    if separator:
        return StringList(text.split(separator, count - 1 if count > 0 else -1))
    if 0 < count < len(text):
        return StringList((*text[: count - 1], text[count - 1 :]))
    return StringList(text)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end is not None and not 0 <= end <= len(text):
        raise _out_of_range(end)
    return text[start:end]


def _join(items: list[Any], separator: str = "") -> str:
    for each in items:
        if type(each) is not str:
            raise EvaluationError(f"join: invalid input: {each}")
    return separator.join(items)


OVERLOADS: dict[str, Callable[..., Any]] = {
    "string_char_at_int": _char_at,
    "string_index_of_string": _index_of,
    "string_index_of_string_int": _index_of,
    "string_last_index_of_string": _last_index_of,
    "string_last_index_of_string_int": _last_index_of,
    "string_lower_ascii": lambda text: text.translate(_LOWER),
    "string_upper_ascii": lambda text: text.translate(_UPPER),
    "string_replace_string_string": _replace,
    "string_replace_string_string_int": _replace,
    "string_split_string": _split,
    "string_split_string_int": _split,
    "string_substring_int": _substring,
    "string_substring_int_int": _substring,
    "string_trim": lambda text: text.strip(GO_SPACE),
    "list_join": _join,
    "list_join_string": _join,
    "strings_quote": lambda text: f'"{text.translate(_QUOTED)}"',
    "string_format": format_string,
    # the jsonpatch library of mutating policies (RFC 6901)
    "jsonpatch_escape_key_string": lambda text: text.replace("~", "~0").replace("/", "~1"),
}
