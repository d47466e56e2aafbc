"""Encodes JSON values as the bytes after a protobuf tag: varints, and payloads with their length before them.

Each function takes a value of one schema kind, in canonical JSON form. The layouts are those of the .proto files that
Kubernetes publishes: Time and MicroTime are Timestamp messages, a Quantity is a message of its text, and so on.
"""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any

from gateway.jsontypes import dumps
from gateway.schema.types import TypeKind

Value = Callable[[Any], bytes]

_KEPT = 1 << 14  # varints of smaller numbers are remembered: most lengths and values
_CYCLE_YEARS = 400  # the Gregorian calendar repeats after so many years
_CYCLE_SECONDS = 146097 * 86400
_EPOCH = datetime(1970, 1, 1)


class _Varints(dict[int, bytes]):
    """Varints by number. Negative numbers have 64 bits, as protobuf encodes int32 and int64."""

    def __missing__(self, number: int) -> bytes:
        rest = number & 0xFFFFFFFFFFFFFFFF
        groups = []
        while rest > 0x7F:
            groups.append(rest & 0x7F | 0x80)
            rest >>= 7
        groups.append(rest)
        found = bytes(groups)
        if 0 <= number < _KEPT:
            self[number] = found
        return found


VARINTS = _Varints()
LENGTH_DELIMITED, VARINT, FIXED64 = 2, 0, 1


def tag(number: int, wire: int = LENGTH_DELIMITED) -> bytes:
    """The tag of a field: its number and wire type."""
    return VARINTS[number << 3 | wire]


def delimited(payload: bytes) -> bytes:
    """A payload with its length before it."""
    return VARINTS[len(payload)] + payload


def text(value: str) -> bytes:
    return delimited(value.encode())


def _integer(value: int) -> bytes:
    return VARINTS[value]


def _boolean(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def _double(value: float) -> bytes:
    return struct.pack("<d", value)


def _binary(value: str) -> bytes:
    return delimited(b64decode(value))


def _quantity(value: str) -> bytes:
    return delimited(b"\x0a" + text(value))


@lru_cache(maxsize=1024)
def _day(date: str) -> int:
    """The first second of a day since the epoch. The year is moved into datetime's range, which lacks year 0."""
    year = int(date[:4])
    days = datetime.fromisoformat(f"{2000 + year % _CYCLE_YEARS}{date[4:]}") - _EPOCH
    return days.days * 86400 + (year // _CYCLE_YEARS - 2000 // _CYCLE_YEARS) * _CYCLE_SECONDS


def _seconds(time: str) -> bytes:
    """The whole seconds of a time, as a Timestamp's field 1."""
    return b"\x08" + VARINTS[_day(time[:10]) + int(time[11:13]) * 3600 + int(time[14:16]) * 60 + int(time[17:19])]


@lru_cache(maxsize=8192)
def _time(value: str | None) -> bytes:
    return delimited(_seconds(value) + b"\x10\x00") if value else b"\0"  # Go's zero time is an empty message


def _micro_time(value: str | None) -> bytes:
    return delimited(_seconds(value) + b"\x10" + VARINTS[int(value[20:26]) * 1000]) if value else b"\0"


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return delimited(b"\x08\x01\x10\x00\x1a" + text(value))
    return delimited(b"\x08\x00\x10" + VARINTS[value] + b"\x1a\x00")


def raw_json(value: Any) -> bytes:
    """Encodes RawExtension, JSON and FieldsV1: a message with the value's JSON; an empty message for null."""
    return b"\0" if value is None else delimited(b"\x0a" + delimited(dumps(value)))


WIRE = {
    TypeKind.INT32: VARINT,
    TypeKind.INT64: VARINT,
    TypeKind.BOOL: VARINT,
    TypeKind.FLOAT: FIXED64,
}
ENCODED: dict[TypeKind, Value] = {
    TypeKind.STRING: text,
    TypeKind.INT32: _integer,
    TypeKind.INT64: _integer,
    TypeKind.BOOL: _boolean,
    TypeKind.FLOAT: _double,
    TypeKind.BYTES: _binary,
    TypeKind.QUANTITY: _quantity,
    TypeKind.TIME: _time,
    TypeKind.MICROTIME: _micro_time,
    TypeKind.INT_OR_STRING: _int_or_string,
    TypeKind.ANY: raw_json,
}
# the values that Go writes for fields that were never set; other kinds have no such value
ZERO: dict[TypeKind, Any] = {
    TypeKind.STRING: "",
    TypeKind.INT32: 0,
    TypeKind.INT64: 0,
    TypeKind.BOOL: False,
    TypeKind.FLOAT: 0.0,
    TypeKind.QUANTITY: "0",
    TypeKind.TIME: None,
    TypeKind.MICROTIME: None,
    TypeKind.INT_OR_STRING: 0,
    TypeKind.ANY: None,
}
