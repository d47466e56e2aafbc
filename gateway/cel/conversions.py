"""Conversions of values between types (cel-spec, "Type Conversions"), with cel-go's errors."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from gateway.cel.moments import (
    format_duration,
    format_timestamp,
    parse_duration,
    parse_timestamp,
    timestamp_of_seconds,
)
from gateway.cel.values import (
    INT_MAX,
    INT_MIN,
    NANOS,
    UINT_MAX,
    Duration,
    EvaluationError,
    Timestamp,
    Uint,
    in_int_range,
    in_uint_range,
)

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_FLOAT = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan"
    r"|0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+)",
    re.ASCII | re.IGNORECASE,
)
_SEPARATOR = re.compile("(?<=[0-9a-fA-FxX])_(?=[0-9a-fA-F])", re.ASCII)
_TRUE = ("1", "t", "T", "true", "TRUE", "True")
_FALSE = ("0", "f", "F", "false", "FALSE", "False")


def _failed(source: str, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


def string_to_int(text: str) -> int:
    """Parses base 10 as Go does. Raises EvaluationError, as the other conversions do."""
    if _INTEGER.fullmatch(text) and len(text) < 40 and INT_MIN <= (number := int(text)) <= INT_MAX:
        return number
    raise _failed("string", "int")


def string_to_uint(text: str) -> Uint:
    """Parses base 10 as Go does."""
    if _DIGITS.fullmatch(text) and len(text) < 40 and (number := int(text)) <= UINT_MAX:
        return Uint(number)
    raise _failed("string", "uint")


def string_to_double(text: str) -> float:
    """Parses a floating point number as Go does."""
    text = _SEPARATOR.sub("", text)
    if not _FLOAT.fullmatch(text):
        raise _failed("string", "double")
    try:
        number = float.fromhex(text) if "x" in text.lower() else float(text)
    except OverflowError:
        raise _failed("string", "double") from None
    if math.isinf(number) and "n" not in text.lower():
        raise _failed("string", "double")
    return number


def string_to_bool(text: str) -> bool:
    """Parses a boolean as Go does: "1", "t", "true" and so on."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _failed("string", "bool")


def string_to_duration(text: str) -> Duration:
    """Parses a Go duration such as "1h30m"."""
    if (length := parse_duration(text)) is None:
        raise _failed("string", "google.protobuf.Duration")
    return length


def string_to_timestamp(text: str) -> Timestamp:
    """Parses an RFC 3339 timestamp."""
    if (moment := parse_timestamp(text)) is None:
        raise _failed("string", "google.protobuf.Timestamp")
    return moment


def bytes_to_string(raw: bytes) -> str:
    """Decodes UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def double_to_int(number: float) -> int:
    """Rounds towards zero."""
    if not -(2.0**63) < number < 2.0**63:  # false for NaN too
        raise EvaluationError("integer overflow")
    return int(number)


def double_to_uint(number: float) -> Uint:
    """Rounds towards zero."""
    if not 0 <= number < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(number))


def format_double(number: float) -> str:
    """Formats a double as Go's %g does. Numbers with seven or more digits before the point get an exponent."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign, digits, point = _digits(number)
    exponent = point - 1
    if not -4 <= exponent < 6:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if len(digits) <= point:
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    return f"{sign}{digits[:point]}.{digits[point:]}"


def _digits(number: float) -> tuple[str, str, int]:
    """The sign ("-" or ""), the shortest digits that identify the number, and the position of the decimal point."""
    mantissa, _, power = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole + fraction) - len(digits)
    point = len(whole) - leading + int(power or 0)
    sign = "-" if math.copysign(1, number) < 0 else ""
    return sign, digits.rstrip("0") or "0", point if digits.rstrip("0") else 1


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "bool_to_bool": lambda value: value,
    "string_to_bool": string_to_bool,
    "bytes_to_bytes": lambda value: value,
    "string_to_bytes": lambda text: text.encode(errors="surrogatepass"),
    "double_to_double": lambda value: value,
    "int64_to_double": float,
    "uint64_to_double": float,
    "string_to_double": string_to_double,
    "duration_to_duration": lambda value: value,
    "int64_to_duration": lambda number: Duration(number),
    "string_to_duration": string_to_duration,
    "to_dyn": lambda value: value,
    "int64_to_int64": lambda value: value,
    "double_to_int64": double_to_int,
    "duration_to_int64": lambda length: length.nanos,
    "string_to_int64": string_to_int,
    "timestamp_to_int64": lambda moment: moment.nanos // NANOS,
    "uint64_to_int64": lambda number: in_int_range(int(number)),
    "string_to_string": lambda value: value,
    "bool_to_string": lambda value: "true" if value else "false",
    "bytes_to_string": bytes_to_string,
    "double_to_string": format_double,
    "duration_to_string": format_duration,
    "int64_to_string": str,
    "timestamp_to_string": format_timestamp,
    "uint64_to_string": lambda number: str(int(number)),
    "timestamp_to_timestamp": lambda value: value,
    "int64_to_timestamp": timestamp_of_seconds,
    "string_to_timestamp": string_to_timestamp,
    "uint64_to_uint64": lambda value: value,
    "double_to_uint64": double_to_uint,
    "int64_to_uint64": in_uint_range,
    "string_to_uint64": string_to_uint,
}
FUNCTIONS = ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
