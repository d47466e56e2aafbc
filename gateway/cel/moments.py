"""Timestamps and durations: parsing, formatting, arithmetic (cel-spec, "Timestamps and Durations"; Go's time)."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from gateway.cel.values import (
    EARLIEST,
    INT_MAX,
    INT_MIN,
    LATEST,
    NANOS,
    Duration,
    EvaluationError,
    Timestamp,
    in_int_range,
)
from gateway.memo import memo
from gateway.text.time_zones import zone_named

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": NANOS, "m": 60 * NANOS, "h": 3600 * NANOS}
_part = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII).match
_WORDS = {
    "ns": ("ns", "nano"),
    "us": ("us", "µs", "micro"),
    "ms": ("ms", "milli"),
    "s": ("s", "sec"),
    "m": ("m", "min"),
    "h": ("h", "hr", "hour"),
    "d": ("d", "day"),
    "w": ("w", "wk", "week"),
}
_LONG = {**_UNITS, "d": 24 * 3600 * NANOS, "w": 7 * 24 * 3600 * NANOS}
_LONG_PARTS = re.compile(r"(?<!\d)(\d++)\s*+([A-Za-zµ]+)", re.ASCII)  # possessive: reads each digit once
_SHOWN = 18  # digits of a fraction that are read; more do not change the nanoseconds


def parse_timestamp(text: str) -> Timestamp | None:
    """Parses an RFC 3339 timestamp; None for another text. Raises EvaluationError if it is out of CEL's range."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    if not 1 <= month <= 12 or hour > 23 or minute > 59 or second > 59:
        return None
    if not 1 <= day <= monthrange(year or 4, month)[1]:
        return None
    offset = 0
    if found[8]:
        hours, minutes = int(found[9]), int(found[10])
        if hours > 24 or minutes > 60:
            return None
        offset = (hours * 60 + minutes) * 60 * (-1 if found[8] == "-" else 1)
    if not year:
        raise EvaluationError("timestamp overflow")
    days = datetime(year, month, day, tzinfo=UTC).toordinal() - _EPOCH.toordinal()
    seconds = days * 86400 + hour * 3600 + minute * 60 + second - offset
    fraction = int((found[7] or "0")[:9].ljust(9, "0"))
    return Timestamp(_valid_seconds(seconds) * NANOS + fraction, offset)


def _valid_seconds(seconds: int) -> int:
    if EARLIEST <= seconds <= LATEST:
        return seconds
    raise EvaluationError("timestamp overflow")


def timestamp_of_seconds(seconds: int) -> Timestamp:
    """The timestamp of a Unix time in seconds. Raises EvaluationError if it is out of range."""
    return Timestamp(_valid_seconds(seconds) * NANOS)


def format_timestamp(moment: Timestamp) -> str:
    """The moment as Go writes RFC3339Nano."""
    seconds, nanos = divmod(moment.nanos, NANOS)
    when = _EPOCH + timedelta(seconds=seconds + moment.offset) if _fits(seconds + moment.offset) else _EPOCH
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{when.year:04d}-{when.month:02d}-{when.day:02d}T{when:%H:%M:%S}{fraction}{_zone(moment.offset)}"


def _fits(seconds: int) -> bool:
    return EARLIEST <= seconds <= LATEST


def _zone(offset: int) -> str:
    if not offset:
        return "Z"
    hours, minutes = divmod(abs(offset) // 60, 60)
    return f"{'-' if offset < 0 else '+'}{hours:02d}:{minutes:02d}"


def parse_duration(text: str) -> Duration | None:
    """Parses a duration such as "1h30m" as Go's time.ParseDuration does; None for another text."""
    negative, rest = text[:1] == "-", text[1:] if text[:1] in ("+", "-") and text else text
    if rest == "0":
        return Duration(0)
    if not rest:
        return None
    total, at = 0, 0
    while at < len(rest):
        found = _part(rest, at)
        if found is None or not (found[1] or found[2]):
            return None
        unit = _UNITS[found[3]]
        if (whole := _number(found[1])) is None:
            return None
        total += whole * unit
        if fraction := (found[2] or "")[:_SHOWN]:
            total += int(fraction) * unit // 10 ** len(fraction)
        at = found.end()
    if total > INT_MAX + negative:
        return None
    return Duration(-total if negative else total)


def _number(digits: str) -> int | None:
    """The number of a string of digits (0 for ""); None if it is longer than any duration."""
    digits = digits.lstrip("0")
    return int(digits or 0) if len(digits) <= len(str(INT_MAX)) else None


def parse_long_duration(text: str) -> Duration | None:
    """Parses a Go duration or words such as "2 days" (the OpenAPI format "duration"); None for another text."""
    if (plain := parse_duration(text)) is not None:
        return plain
    total, known = 0, False
    for found in _LONG_PARTS.finditer(text):
        word, count = found[2].lower(), _number(found[1])
        for unit, variants in _WORDS.items():
            if word in variants or word.startswith(variants[-1]):
                if count is None:
                    return None
                total += count * _LONG[unit]
                known = True
    return Duration(total) if known and total <= INT_MAX else None


def format_duration(length: Duration) -> str:
    """A duration in seconds with as few digits as possible, such as "1.5s"."""
    sign, nanos = ("-", -length.nanos) if length.nanos < 0 else ("", length.nanos)
    seconds, rest = divmod(nanos, NANOS)
    if not rest:
        return f"{sign}{seconds}s"
    exact = repr(seconds + rest / NANOS)
    return f"{sign}{exact}s" if "e" not in exact else f"{sign}{seconds}.{rest:09d}".rstrip("0") + "s"


def valid_duration(nanos: int) -> Duration:
    """A duration of so many nanoseconds. Raises EvaluationError if they do not fit 64 bits."""
    if INT_MIN <= nanos <= INT_MAX:
        return Duration(nanos)
    raise EvaluationError("duration overflow")


def between(one: Timestamp, other: Timestamp) -> Duration:
    """The duration `one - other`. Raises EvaluationError if it does not fit 64 bits."""
    return Duration(in_int_range(one.nanos - other.nanos))


def valid_timestamp(nanos: int, offset: int) -> Timestamp:
    """A timestamp of nanoseconds since 1970 and a UTC offset. Raises EvaluationError if it is out of range."""
    if EARLIEST <= nanos // NANOS <= LATEST:
        return Timestamp(nanos, offset)
    raise EvaluationError("timestamp overflow")


@memo(64 << 10, share=256)  # a zone takes some kilobytes
def _named_zone(name: str) -> ZoneInfo | None:
    return zone_named(name)


def _offset_zone(text: str) -> timezone:
    hours, _, minutes = text.partition(":")
    for part in (hours, minutes):
        if not re.fullmatch(r"[+-]?\d{1,6}", part, re.ASCII):
            quoted = f'strconv.Atoi: parsing "{part}": invalid syntax'
            raise EvaluationError(quoted)
    total = int(hours) * 60 + (-int(minutes) if text[0] == "-" else int(minutes))
    if abs(total) >= 24 * 60:
        raise EvaluationError(f"unknown time zone {text}")
    return timezone(timedelta(minutes=total))


def in_zone(moment: Timestamp, zone: str | None) -> datetime:
    """The date and time of a timestamp in a zone ("Europe/Berlin" or "+01:00"), or in UTC. Raises EvaluationError."""
    seconds = moment.nanos // NANOS
    where: timezone | ZoneInfo | None
    if zone is None or zone in ("", "UTC"):
        where = UTC
    elif ":" in zone:
        where = _offset_zone(zone)
    else:
        where = _named_zone(zone)
    if where is None:
        raise EvaluationError(f"unknown time zone {zone}")
    try:
        return (_EPOCH + timedelta(seconds=seconds)).astimezone(where)
    except OverflowError:
        raise EvaluationError("timestamp overflow") from None
