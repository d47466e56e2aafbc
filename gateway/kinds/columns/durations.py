"""Durations and ages as in Tables: "5s", "3m20s", "2d4h", "400d"."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

MINUTE, HOUR, DAY = 60, 3600, 86400
YEAR = 365 * DAY
LONGEST = 9_223_372_036  # seconds: Go's longest duration, in either direction
_YEAR_ONE = -62_135_596_800.0


def human_duration(seconds: int) -> str:
    """A duration in whole seconds (rounded toward zero) with two or three significant figures.

    A duration of -1 second counts as 0, since clocks differ; a lower one is "<invalid>".
    """
    if seconds < -1:
        return "<invalid>"
    if seconds < 2 * MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * MINUTE:
        return _two(seconds, MINUTE, "m", 1, "s")
    if seconds < 3 * HOUR:
        return f"{seconds // MINUTE}m"
    if seconds < 8 * HOUR:
        return _two(seconds, HOUR, "h", MINUTE, "m")
    if seconds < 2 * DAY:
        return f"{seconds // HOUR}h"
    if seconds < 8 * DAY:
        return _two(seconds, DAY, "d", HOUR, "h")
    if seconds < 2 * YEAR:
        return f"{seconds // DAY}d"
    if seconds < 8 * YEAR:
        return _two(seconds, YEAR, "y", DAY, "d")
    return f"{seconds // YEAR}y"


def _two(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_unit}{rest}{small_unit}" if rest else f"{seconds // large}{large_unit}"


def seconds_between(start: float, end: float) -> int:
    """The seconds from `start` to `end`, rounded toward zero and limited to Go's longest duration."""
    return max(-LONGEST, min(LONGEST, int(end - start)))


@lru_cache(maxsize=8192)
def aging(seconds: int) -> tuple[str, int]:
    """The text of an age, and a step in seconds: the text changes only when the age is a multiple of the step."""
    step = 1 if seconds < 10 * MINUTE else MINUTE if seconds < 8 * HOUR else HOUR if seconds < 8 * DAY else DAY
    return human_duration(seconds), step


@lru_cache(maxsize=8192)
def epoch(time: str) -> float:
    """A canonical RFC 3339 time as seconds since 1970."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except (ValueError, OverflowError):  # the year 0
        return _YEAR_ONE
