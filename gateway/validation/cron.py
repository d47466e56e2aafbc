"""Cron schedules and time zones of CronJobs (page "CronJob": "Schedule syntax", "Time zones")."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from zoneinfo import TZPATH

from gateway.memo import memo
from gateway.schema.integers import parse_int
from gateway.text.time_zones import has_zone_above, zone_named
from gateway.validation.field import FieldError, go_quote, invalid


class FieldRange(NamedTuple):
    """The least and greatest number in a field of a schedule, and names for numbers from 0 on."""

    low: int
    high: int
    names: tuple[str, ...] = ()


_FIELDS = (
    FieldRange(0, 59),
    FieldRange(0, 23),
    FieldRange(1, 31),
    FieldRange(1, 12, ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")),
    FieldRange(0, 6, ("sun", "mon", "tue", "wed", "thu", "fri", "sat")),
)
_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_ZONE_PREFIXES = ("TZ=", "CRON_TZ=")
_is_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch
_durations = re.compile(r"([0-9]*)(\.?)([0-9]*)([^0-9.]*)").match
_UNITS = ("ns", "us", "µs", "μs", "ms", "s", "m", "h")


class CronError(ValueError):
    """A schedule is invalid; the message is kube-apiserver's."""


@memo(1 << 18)
def schedule_error(schedule: str) -> str:
    """The message about an invalid schedule; "" for a valid one."""
    try:
        _parse(schedule)
    except CronError as error:
        return str(error)
    return ""


def _parse(schedule: str) -> None:
    if schedule.startswith(_ZONE_PREFIXES):
        zone, space, rest = schedule.partition("=")[2].partition(" ")
        if not space:
            raise CronError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        if error := location_error(zone):
            raise CronError(f"provided bad location {zone}: {error}")
        schedule = rest.strip()
    if schedule.startswith("@"):
        _descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise CronError(f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _range(expression, bounds)


def _range(expression: str, bounds: FieldRange) -> None:
    parts = expression.split("/")
    limits = parts[0].split("-")
    if limits[0] in ("*", "?"):
        low, high = bounds.low, bounds.high
    else:
        low = high = _number_or_name(limits[0], bounds)
        if len(limits) == 2:
            high = _number_or_name(limits[1], bounds)
        elif len(limits) > 2:
            raise CronError(f"too many hyphens: {expression}")
    step = 1
    if len(parts) == 2:
        step = _number(parts[1])
        if len(limits) == 1:
            high = bounds.high
    elif len(parts) > 2:
        raise CronError(f"too many slashes: {expression}")
    if low < bounds.low:
        raise CronError(f"beginning of range ({low}) below minimum ({bounds.low}): {expression}")
    if high > bounds.high:
        raise CronError(f"end of range ({high}) above maximum ({bounds.high}): {expression}")
    if low > high:
        raise CronError(f"beginning of range ({low}) beyond end of range ({high}): {expression}")
    if not step:
        raise CronError(f"step of range should be a positive number: {expression}")


def _number_or_name(text: str, bounds: FieldRange) -> int:
    name = text.lower()
    return bounds.names.index(name) if name and name in bounds.names else _number(text)


def _number(text: str) -> int:
    try:
        number = parse_int(text)
    except ValueError as fault:
        raise CronError(f"failed to parse int from {text}: strconv.Atoi: parsing {go_quote(text)}: {fault}") from None
    if number < 0:
        raise CronError(f"negative number ({number}) not allowed: {text}")
    return number


def _descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith("@every "):
        raise CronError(f"unrecognized descriptor: {text}")
    duration = text.removeprefix("@every ")
    if error := _duration_error(duration):
        raise CronError(f"failed to parse duration {duration}: {error}")


def _duration_error(text: str) -> str:
    """The error of Go's time.ParseDuration; "" for a valid duration."""
    shown, at = go_quote(text), int(text[:1] in ("+", "-"))
    if text[at:] == "0":
        return ""
    if at == len(text):
        return f"time: invalid duration {shown}"
    while at < len(text):
        match = _durations(text, at)
        if match is None or not (match[1] or match[3]):
            return f"time: invalid duration {shown}"
        if not match[4]:
            return f"time: missing unit in duration {shown}"
        if match[4] not in _UNITS:
            return f"time: unknown unit {go_quote(match[4])} in duration {shown}"
        at = match.end()
    return ""


@memo(1 << 18)
def location_error(name: str) -> str:
    """The error of Go's time.LoadLocation for the name of a time zone; "" if it exists."""
    if name in ("", "UTC", "Local"):
        return ""
    if ".." in name or name[0] in "/\\" or "\\" in name:
        return "time: invalid location name"
    return "" if zone_named(name) or not zone_named("Europe/Berlin") else _reading_error(name)


def _reading_error(name: str) -> str:
    """The error of reading a time zone that does not exist, from the directories that have the others."""
    if has_zone_above(name):
        return "not a directory"
    try:
        found = [path for path in (Path(directory, name) for directory in TZPATH) if path.exists()]
    except (OSError, ValueError):  # too long, or with a null character
        found = []
    if not found:
        return f"unknown time zone {name}"
    return "is a directory" if found[0].is_dir() else "malformed time zone information"


def validate_schedule(schedule: str, zone: str | None, path: str, allow_zone: bool) -> list[FieldError]:
    """`zone` is the timeZone field. `allow_zone`: the stored object has a time zone in its schedule already."""
    message = schedule_error(schedule)
    found = [invalid(path, schedule, message)] if message else []
    if "TZ" in schedule:
        if not allow_zone:
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            found.append(invalid(path, schedule, text))
        elif zone is not None:
            text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
            found.append(invalid(path, schedule, text))
    return found


def validate_time_zone(zone: str, path: str) -> list[FieldError]:
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _is_zone_part(part):
            return [invalid(path, zone, f"unknown time zone {zone}")]
    found = []
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        found.append(invalid(path, zone, text))
    if error := location_error(zone):
        found.append(invalid(path, zone, error))
    return found
