"""Times as Kubernetes objects hold them: RFC 3339 in UTC, to the second or (MicroTime) to the microsecond.

The accepted texts and the errors are those of Go's time.Parse. It is laxer than RFC 3339 in some places (hours of one
digit, "," before fractions, offsets up to 24:60).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from gateway.memo import memo

SECONDS = "2006-01-02T15:04:05Z07:00"
MICROSECONDS = "2006-01-02T15:04:05.000000Z07:00"

_ZERO = "0001-01-01T00:00:00"
_common = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?Z").fullmatch
_elements = re.compile(r"2006|01|02|15|04|05|\.000000|Z07:00")
_RANGES = {"01": (1, 12, "month"), "15": (0, 23, "hour"), "04": (0, 59, "minute"), "05": (0, 59, "second")}


class TimeError(ValueError):
    """A text is not a time; the message is Go's."""


class _Moment(NamedTuple):
    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    fraction: str  # the digits of the fraction of a second
    offset: timedelta


@memo()
def canonical_time(text: str) -> str | None:
    """The time in UTC to the second; None for Go's zero time. Raises TimeError."""
    parts = _common(text)
    if parts is not None and _exists(int(parts[1]), int(parts[2]), int(parts[3]), parts[4], parts[5], parts[6]):
        return None if text.startswith(_ZERO) and not (parts[7] or "").strip(".0") else text[:19] + "Z"
    moment = _parse(text, SECONDS)
    written = _written(moment)
    return None if written == _ZERO and not moment.fraction.strip("0") else written + "Z"


@memo()
def canonical_microtime(text: str) -> str | None:
    """The time in UTC to the microsecond; None for Go's zero time. Raises TimeError."""
    moment = _parse(text, MICROSECONDS)
    written = _written(moment)
    return None if written == _ZERO and moment.fraction == "000000" else f"{written}.{moment.fraction}Z"


def _exists(year: int, month: int, day: int, hour: str, minute: str, second: str) -> bool:
    in_year = 1 <= month <= 12 and 1 <= day <= _days(year, month)
    return in_year and hour < "24" and minute < "60" and second < "60"


def _days(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _written(moment: _Moment) -> str:
    """Date and time in UTC, without a zone. `datetime` lacks year 0: a year with the same calendar stands in."""
    stand_in = 2000 + moment.year % 400
    local = datetime(stand_in, moment.month, moment.day, moment.hour, moment.minute, moment.second)
    time = local - moment.offset
    return f"{time.year - stand_in + moment.year:04d}-{time:%m-%dT%H:%M:%S}"


def _parse(text: str, layout: str) -> _Moment:
    """Parses a text by a layout, one element after the other. Raises TimeError."""
    rest, position = text, 0
    numbers = {"2006": 0, "01": 1, "02": 1, "15": 0, "04": 0, "05": 0}
    fraction, offset = "", timedelta()
    for element in _elements.finditer(layout):
        rest = _skip(text, rest, layout, layout[position : element.start()])
        name, position, hold = element[0], element.end(), rest
        if name == "Z07:00":
            offset, rest = _zone(text, rest, layout)
        elif name == ".000000":
            if not re.match(r"[.,][0-9]{6}", rest):
                raise _cannot_parse(text, layout, hold, name)
            fraction, rest = rest[1:7], rest[7:]
        else:
            number = re.match({"2006": "[0-9]{4}", "15": "[0-9]{1,2}"}.get(name, "[0-9]{2}"), rest, re.ASCII)
            if number is None:
                raise _cannot_parse(text, layout, hold, name)
            numbers[name], rest = int(number[0]), rest[number.end() :]
            if name in _RANGES and not _RANGES[name][0] <= numbers[name] <= _RANGES[name][1]:
                raise TimeError(f"parsing time {_quoted(text)}: {_RANGES[name][2]} out of range")
            if name == "05" and layout is SECONDS and (extra := re.match("[.,]([0-9]+)", rest, re.ASCII)):
                fraction, rest = extra[1], rest[extra.end() :]
    if rest:
        raise TimeError(f"parsing time {_quoted(text)}: extra text: {_quoted(rest)}")
    if not 1 <= numbers["02"] <= _days(numbers["2006"], numbers["01"]):
        raise TimeError(f"parsing time {_quoted(text)}: day out of range")
    year, month, day, hour, minute, second = numbers.values()
    return _Moment(year, month, day, hour, minute, second, fraction, offset)


def _skip(text: str, rest: str, layout: str, prefix: str) -> str:
    if not rest.startswith(prefix):
        raise _cannot_parse(text, layout, rest, prefix)
    return rest[len(prefix) :]


def _zone(text: str, rest: str, layout: str) -> tuple[timedelta, str]:
    if rest.startswith("Z"):
        return timedelta(), rest[1:]
    parts = re.match(r"([\0-\x7f])(..):(..)", rest, re.DOTALL)
    if parts is None:
        raise _cannot_parse(text, layout, rest, "Z07:00")
    hour_ok, minute_ok = (re.fullmatch("[0-9]{2}", parts[n], re.ASCII) for n in (2, 3))
    if hour_ok and int(parts[2]) > 24:
        raise TimeError(f"parsing time {_quoted(text)}: time zone offset hour out of range")
    if hour_ok and minute_ok and int(parts[3]) > 60:
        raise TimeError(f"parsing time {_quoted(text)}: time zone offset minute out of range")
    if not hour_ok or not minute_ok or parts[1] not in "+-":
        raise _cannot_parse(text, layout, rest, "Z07:00")
    offset = timedelta(hours=int(parts[2]), minutes=int(parts[3]))
    return -offset if parts[1] == "-" else offset, rest[6:]


def _cannot_parse(text: str, layout: str, value: str, element: str) -> TimeError:
    what = f"{_quoted(text)} as {_quoted(layout)}: cannot parse {_quoted(value)} as {_quoted(element)}"
    return TimeError(f"parsing time {what}")


def _quoted(text: str) -> str:
    out = []
    for character in text:
        if " " <= character < "\x80":
            out.append("\\" + character if character in '"\\' else character)
        else:
            out += [f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass")]
    return f'"{"".join(out)}"'


ZERO_TIME = "0001-01-01T00:00:00Z"


def instant(holder: Mapping[str, Any], key: str) -> str | None:
    """The time in an optional field. A null is the zero time, which Go tells from an absent one (None)."""
    return (holder[key] or ZERO_TIME) if key in holder else None
