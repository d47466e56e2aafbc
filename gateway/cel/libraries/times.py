"""Functions like `getHours` on timestamps and durations (cel-spec, "Timestamps and Durations")."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from gateway.cel.moments import between, in_zone, valid_timestamp
from gateway.cel.values import NANOS, Timestamp

_PARTS: dict[str, Callable[[datetime], int]] = {
    "year": lambda when: when.year,
    "month": lambda when: when.month - 1,
    "day_of_year": lambda when: when.timetuple().tm_yday - 1,
    "day_of_month": lambda when: when.day - 1,
    "day_of_month_1_based": lambda when: when.day,
    "day_of_week": lambda when: when.isoweekday() % 7,
    "hours": lambda when: when.hour,
    "minutes": lambda when: when.minute,
    "seconds": lambda when: when.second,
}


def _part(part: Callable[[datetime], int]) -> Callable[..., int]:
    return lambda moment, zone=None: part(in_zone(moment, zone))


def _milliseconds(moment: Timestamp, zone: str | None = None) -> int:
    in_zone(moment, zone)
    return moment.nanos % NANOS // 1_000_000


def _whole(nanos: int, unit: int) -> int:
    return nanos // unit if nanos >= 0 else -(-nanos // unit)


OVERLOADS: dict[str, Callable[..., Any]] = {
    **{f"timestamp_to_{name}": _part(part) for name, part in _PARTS.items()},
    **{f"timestamp_to_{name}_with_tz": _part(part) for name, part in _PARTS.items()},
    "timestamp_to_seconds_tz": _part(_PARTS["seconds"]),
    "timestamp_to_milliseconds": _milliseconds,
    "timestamp_to_milliseconds_with_tz": _milliseconds,
    "duration_to_hours": lambda length: _whole(length.nanos, 3600 * NANOS),
    "duration_to_minutes": lambda length: _whole(length.nanos, 60 * NANOS),
    "duration_to_seconds": lambda length: _whole(length.nanos, NANOS),
    "duration_to_milliseconds": lambda length: _whole(length.nanos, 1_000_000),
    "add_timestamp_duration": lambda one, other: valid_timestamp(one.nanos + other.nanos, one.offset),
    "subtract_timestamp_duration": lambda one, other: valid_timestamp(one.nanos - other.nanos, one.offset),
    "subtract_timestamp_timestamp": between,
}
