"""Go's errors for a JSON value that does not fit a scalar type, or a type with a JSON decoder of its own."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from gateway.schema.exact import Number
from gateway.schema.quantity import QuantityError, parse_quantity
from gateway.schema.times import TimeError, canonical_microtime, canonical_time
from gateway.schema.types import Type, TypeKind

_BITS = {TypeKind.INT32: 31, TypeKind.INT64: 63}
_WHOLE_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
STRING = Type(TypeKind.STRING, "string")
_INT32 = Type(TypeKind.INT32, "int32")
_UINT8 = Type(TypeKind.INT32, "uint8")


class Refusal(Exception):
    """A type refuses a value. `text` is the whole message, or, with a `go_type`, the JSON kind or number refused.
    `fields` leads to the value from where the examiner is.
    """

    def __init__(self, text: str, go_type: str = "", fields: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.text, self.go_type, self.fields = text, go_type, fields


def refusal_of_own(type_: Type, value: Any) -> str | None:
    """Go's message about a value for a type with its own JSON decoder, or about invalid base64; None if it is valid."""
    if type_.kind is TypeKind.BYTES:
        found = plain_refusal(type_, value)
        return f"error decoding from json: {found.text}" if found and not found.go_type else None
    try:
        if type_.kind in OWN_JSON:
            OWN_JSON[type_.kind](value)
    except Refusal as refusal:
        return (
            f"json: cannot unmarshal {refusal.text} into Go value of type {refusal.go_type}"
            if refusal.go_type
            else refusal.text
        )
    return None


def plain_refusal(type_: Type, value: Any) -> Refusal | None:
    """Why Go's generic decoder refuses a value for a type; None if it does not."""
    match type_.kind, value:
        case (TypeKind.BOOL, bool()) | (TypeKind.STRING | TypeKind.DURATION, str()):
            return None
        case TypeKind.FLOAT, int() | float() | Number() if not isinstance(value, bool):
            overflows = abs(float(value)) == float("inf")
            return Refusal(f"number {number_text(value)}", type_.name) if overflows else None
        case (TypeKind.INT32 | TypeKind.INT64, int() | float() | Number()) if not isinstance(value, bool):
            return _int_refusal(type_, value)
        case TypeKind.BYTES, str():
            offset = _bad_base64(value)
            return None if offset is None else Refusal(f"illegal base64 data at input byte {offset}")
        case TypeKind.BYTES, list():
            refusals = (_byte_refusal(item) for item in value if item is not None)
            return next((refusal for refusal in refusals if refusal), None)
    return Refusal(json_kind(value), type_.name)


def _int_refusal(type_: Type, value: Any) -> Refusal | None:
    limit = 1 << _BITS[type_.kind]
    fits = type(value) is int and -limit <= value < limit
    return None if fits else Refusal(f"number {number_text(value)}", type_.name)


def _byte_refusal(value: Any) -> Refusal | None:
    if json_kind(value) != "number":
        return Refusal(json_kind(value), _UINT8.name)
    fits = type(value) is int and 0 <= value < 256
    return None if fits else Refusal(f"number {number_text(value)}", _UINT8.name)


def json_kind(value: Any) -> str:
    """The kind of a JSON value, as Go's errors call it."""
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
    return "number"


def number_text(value: Any) -> str:
    """The text of a number: as it was written, or, if that is unknown, as Go writes it."""
    if type(value) is not float or not isfinite(value):
        return str(value)
    text = repr(value)
    if "e" not in text and abs(value) < 1e21:
        return text.removesuffix(".0")
    mantissa, _, exponent = f"{value:e}".partition("e") if "e" not in text else text.partition("e")
    number = int(exponent)
    if -7 < number < 21:
        return f"{value:f}".rstrip("0").rstrip(".") if number < 0 else f"{value:.0f}"
    return f"{mantissa.removesuffix('.0')}e{'-' if number < 0 else '+'}{abs(number):02d}".replace("e-0", "e-")


def spelt(value: Any) -> Any:
    """A plain JSON value with its floats as `Number`: whole ones as clients write them (`2.0`), others as Go does."""
    if isinstance(value, dict):
        return {key: spelt(item) for key, item in value.items()}
    if isinstance(value, list):
        return [spelt(item) for item in value]
    if type(value) is not float:
        return value
    return Number(repr(value) if value.is_integer() and abs(value) < 1e16 else number_text(value))


def _bad_base64(text: str) -> int | None:
    """The offset in Go's error about invalid base64; None for valid base64."""
    if len(text) % 4 == 0 and _WHOLE_BASE64.fullmatch(text):
        return None
    data = text.encode("utf-8", "surrogatepass").decode("latin-1")
    position = [index for index, character in enumerate(data) if character not in "\r\n"]
    kept = "".join(data[index] for index in position)
    padding = next((index for index, character in enumerate(kept) if character not in _BASE64), len(kept))
    in_quantum = padding % 4
    if padding == len(kept):  # cut short
        return None if in_quantum == 0 else len(data) - in_quantum
    if kept[padding] != "=" or in_quantum < 2:
        return position[padding]
    end = padding + 1
    if in_quantum == 2:
        if end == len(kept):
            return len(data)
        if kept[end] != "=":
            return position[end] - 1
        end += 1
    return None if end == len(kept) else position[end]


def _time(value: Any) -> None:
    if type(value) is not str:
        raise Refusal(json_kind(value), STRING.name)
    try:
        canonical_time(value)
    except TimeError as error:
        raise Refusal(str(error)) from None


def _microtime(value: Any) -> None:
    if type(value) is not str:
        raise Refusal(json_kind(value), STRING.name)
    try:
        canonical_microtime(value)
    except TimeError as error:
        raise Refusal(str(error)) from None


def _quantity(value: Any) -> None:
    text = value.strip() if type(value) is str else str(value).lower() if isinstance(value, bool) else ""
    if not text and json_kind(value) == "number":
        text = number_text(value)
    try:
        parse_quantity(text)
    except QuantityError as error:
        raise Refusal(str(error)) from None


def _int_or_string(value: Any) -> None:
    if type(value) is not str:
        refusal = plain_refusal(_INT32, value)
        if refusal:
            raise refusal


OWN_JSON = {
    TypeKind.TIME: _time,
    TypeKind.MICROTIME: _microtime,
    TypeKind.QUANTITY: _quantity,
    TypeKind.INT_OR_STRING: _int_or_string,
}
