"""The function `format`, as in `"%s is %d".format([a, b])` (cel-go's ext.Strings, version 2)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from gateway.cel.conversions import format_double
from gateway.cel.moments import format_duration, format_timestamp
from gateway.cel.values import Duration, EvaluationError, Timestamp, TypeValue, Uint, type_name
from gateway.validation.field import go_quote

KINDS = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps, was given {}",
    "d": "decimal clause can only be used on integers, was given {}",
    "f": "fixed-point clause can only be used on doubles, was given {}",
    "e": "scientific clause can only be used on doubles, was given {}",
    "b": "only integers and bools can be formatted as binary, was given {}",
    "x": "only integers, byte buffers, and strings can be formatted as hex, was given {}",
    "o": "octal clause can only be used on integers, was given {}",
}
_PRECISION = 6
_MOST_PLACES = 1000
_DIGITS = re.compile("[0-9]*", re.ASCII)


class ClauseError(Exception):
    """A clause of a format (`%d`) is invalid, or does not fit its argument. The text is cel-go's message."""


def format_string(text: str, arguments: list[Any]) -> str:
    """The text with its clauses (`%s`) replaced by the arguments. Raises EvaluationError."""
    try:
        return interpolate(text, len(arguments), lambda at, clause, places: _write(clause, arguments[at], places))
    except ClauseError as error:
        raise EvaluationError(str(error)) from None


def interpolate(text: str, count: int, write: Callable[[int, str, int | None], str]) -> str:
    """Replaces each clause of the text by `write(argument index, letter, precision or None)`.

    `count` is the number of arguments. Raises ClauseError.
    """
    parts, at, argument = list[str](), 0, 0
    while (found := text.find("%", at)) >= 0:
        parts.append(text[at:found])
        if text[found + 1 : found + 2] == "%":
            parts.append("%")
            at = found + 2
            continue
        if argument >= count:
            raise ClauseError(f"index {argument} out of range")
        if found + 1 >= len(text):
            raise ClauseError("unexpected end of string")
        letter, places, at = _clause(text, found + 1)
        try:
            parts.append(write(argument, letter, places))
        except ClauseError as error:
            raise _During(error) from None
        argument += 1
    return "".join([*parts, text[at:]])


class _During(ClauseError):
    """An error of `write` for an argument. `cause` is the original error."""

    def __init__(self, cause: ClauseError) -> None:
        super().__init__(f"error during formatting: {cause}")
        self.cause = cause


def _clause(text: str, at: int) -> tuple[str, int | None, int]:
    unparsed, places = "could not parse formatting clause", None
    if text[at] == ".":
        digits = _DIGITS.match(text, at + 1)
        assert digits is not None  # the pattern matches the empty string too
        at = digits.end()
        if at >= len(text):
            raise ClauseError(f"{unparsed}: error while parsing precision: could not find end of precision specifier")
        if not digits[0]:
            wrong = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
            raise ClauseError(f"{unparsed}: error while parsing precision: {wrong}")
        places = min(int(digits[0][:9]), _MOST_PLACES)
    if text[at] not in "sdfebxXo":
        raise ClauseError(f'{unparsed}: unrecognized formatting clause "{text[at]}"')
    return text[at], places, at + 1


def _write(clause: str, value: Any, places: int | None) -> str:
    match clause:
        case "s":
            return _plain(value)
        case "d":
            return _decimal(value)
        case "f" | "e":
            return _number(clause, value, _PRECISION if places is None else places)
        case "b":
            if type(value) is bool:
                return "1" if value else "0"
            return format(_integer(value, clause), "b")
        case "o":
            return format(_integer(value, clause), "o")
    return _hex(clause, value)


def _wrong(clause: str, value: Any) -> ClauseError:
    return ClauseError(KINDS[clause.lower()].format(type_name(value)))


def _integer(value: Any, clause: str) -> int:
    if type(value) not in (int, Uint):
        raise _wrong(clause, value)
    return int(value)


def _decimal(value: Any) -> str:
    return str(_integer(value, "d"))


def _hex(clause: str, value: Any) -> str:
    if type(value) is str:
        value = value.encode()
    text = value.hex() if type(value) is bytes else format(_integer(value, clause), "x")
    return text.upper() if clause == "X" else text


def _number(clause: str, value: Any, places: int) -> str:
    if type(value) is str and value in ("NaN", "Infinity", "-Infinity"):
        value = float(value)
    if type(value) is not float:
        raise _wrong(clause, value)
    # as in cel-go, the precision of %e is the minimum width
    width = places if clause == "e" else 0
    if math.isnan(value):
        return "NaN".rjust(width)
    if math.isinf(value):
        return ("∞" if value > 0 else "-∞").rjust(width)
    if clause == "f":
        return f"{value:,.{places}f}"
    mantissa, _, exponent = f"{value:.{_PRECISION}e}".partition("e")
    raised = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in exponent[1:])
    return f"{mantissa}×10{'⁻' if exponent[0] == '-' else ''}{raised}".rjust(width)


def _plain(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return format_double(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                reason = "invalid UTF-8 in bytes, cannot convert to string"
                raise ClauseError(f'could not convert argument "{reason}" to string') from None
        case None:
            return "null"
        case Timestamp():
            return format_timestamp(value)
        case Duration():
            return format_duration(value)
        case TypeValue():
            return value.name
        case list() | tuple():
            return _list(value)
        case dict():
            return _map(value)
    raise _wrong("s", value)


def _list(items: Any) -> str:
    return f"[{', '.join(_literal(each) for each in items)}]"


def _map(pairs: dict[Any, Any]) -> str:
    written = list[tuple[str, str]]()
    for name, value in pairs.items():
        if type(name) not in (str, bool, int, Uint):
            raise ClauseError(f"no formatting function for map key of type {type_name(name)}")
        written.append((go_quote(name) if type(name) is str else _plain(name), _literal(value)))
    return f"{{{', '.join(f'{name}:{value}' for name, value in sorted(written, key=lambda pair: pair[0]))}}}"


def _literal(value: Any) -> str:
    """A value inside a list or map, written as a CEL literal."""
    match value:
        case str():
            return go_quote(value)
        case bytes():
            return f"b{go_quote(_plain(value))}"
        case float():
            if math.isnan(value) or math.isinf(value):
                return go_quote(format_double(value))
            return f"{value:.{_PRECISION}f}"
        case Timestamp():
            return f"timestamp({go_quote(_plain(value))})"
        case Duration():
            return f"duration({go_quote(_plain(value))})"
        case TypeValue():
            return f"type({value.name})"
        case bool() | int() | list() | dict() | None:
            return _plain(value)
    raise ClauseError(f"no formatting function for {type_name(value)}")
