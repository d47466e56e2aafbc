"""YAML scalars as goyaml reads them: YAML 1.1 with Go's numbers.

`yes` is true, `017` is fifteen, `1:30` and dates are strings, and numbers of more than 64 bits are floats or strings.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from decimal import Decimal
from typing import Any

from gateway.schema.body import quoted
from gateway.schema.errors import YamlError

PLAIN = "!plain"
_TAG = "tag:yaml.org,2002:"
_MAX_BITS_DIGITS = 64  # a number with more digits than this has more than 64 bits in any base

_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {word: True for base in ("y", "yes", "true", "on") for word in (base, base.capitalize(), base.upper())}
_WORDS |= {word: False for base in ("n", "no", "false", "off") for word in (base, base.capitalize(), base.upper())}
_WORDS |= dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)
_WORDS |= {sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")}
_WORDS |= dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf)
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def scalar(tag: str, text: str) -> Any:
    """The value of a scalar. `tag` is its YAML tag, or `PLAIN` for a plain scalar without one. Raises YamlError."""
    if tag == PLAIN:
        return _plain(text)
    match tag.removeprefix(_TAG):
        case "int" | "float" | "bool" | "null" as wanted:
            value = _plain(text)
            found = _GO_TAGS[type(value)]
            if found != wanted and (found, wanted) != ("int", "float"):
                raise YamlError(f"yaml: cannot decode !!{found} `{text}` as a !!{wanted}")
            return value
        case "binary":
            try:
                return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
            except ValueError:
                raise YamlError("yaml: !!binary value contains invalid base64 data") from None
        case _:
            return text


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if not (first.isdigit() or first in "+-."):
        return text
    digits = text.replace("_", "")
    if _INTEGER.fullmatch(digits):
        value = _integer(digits)
        if value is not None:
            return value
    if _FLOAT.fullmatch(digits):
        number = float(digits)
        return text if math.isinf(number) else number
    return text


def _integer(digits: str) -> int | None:
    """The integer; None for one of more than 64 bits. Very long ones are not computed."""
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-").lower()
    base = _BASES.get(body[:2], 8 if body[:1] == "0" else 10)
    significant = body[2 if body[:2] in _BASES else 0 :].lstrip("0")
    if len(significant) > _MAX_BITS_DIGITS:
        return None
    value = sign * int(significant or "0", base)
    return value if -(2**63) <= value < 2**64 else None


_BASES = {"0x": 16, "0b": 2, "0o": 8}
_GO_TAGS: dict[type, str] = {str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}


def key(value: Any, of: str) -> str:
    """A mapping's key as a string. `of` is the value of this key in Go's syntax, for errors. Raises YamlError."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() if value < 2**63:
            return str(value)
        case float():
            return _short_float(value)
    kind = "%!s(<nil>), key: <nil>" if value is None else f"uint64, key: {value:#x}"
    raise YamlError(f"unsupported map key of type: {kind}, value: {of}")


def go_value(value: Any) -> str:
    """A scalar in Go's syntax."""
    if isinstance(value, str):
        return quoted(value)
    return "<nil>" if value is None else str(value).lower()


def _short_float(value: float) -> str:
    """A float key, as Go writes a float32."""
    try:
        narrow = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return ".inf" if value > 0 else "-.inf"
    if not math.isfinite(narrow):
        return ".nan" if math.isnan(narrow) else ".inf" if narrow > 0 else "-.inf"
    texts = (f"{narrow:.{digits}e}" for digits in range(9))
    shortest = next(text for text in texts if struct.unpack("f", struct.pack("f", float(text)))[0] == narrow)
    exponent = int(shortest.partition("e")[2])
    return format(Decimal(shortest), "f") if -4 <= exponent < 6 else shortest


def json_number(value: Any) -> Any:
    """A scalar as JSON: a whole float becomes an integer, as Go writes it. Raises YamlError for NaN and infinity."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise YamlError(
                f"json: unsupported value: {'NaN' if math.isnan(value) else '+Inf' if value > 0 else '-Inf'}"
            )
        if value.is_integer() and abs(value) < 2**63:
            return int(Decimal(repr(value)))
    return value
