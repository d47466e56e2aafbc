"""Time zones by their names, which clients choose.

`zoneinfo` opens a file for each name, and if there is none it imports a package for each part of the name, between
slashes and between dots: 250 parts exhaust the stack. So only names that a time zone may have reach it.
"""

from __future__ import annotations

from zoneinfo import ZoneInfo

_LONGEST, _MOST_PARTS = 255, 8
"""Characters and parts of a name. The tz database has at most 42 and 4: posix/America/Argentina/ComodRivadavia. No name
has a dot."""


def zone_named(name: str) -> ZoneInfo | None:
    """The time zone of a name such as "Europe/Berlin"; None if there is none."""
    if len(name) > _LONGEST or name.count("/") >= _MOST_PARTS or "." in name:
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return None


def has_zone_above(name: str) -> bool:
    """Whether a part of a name, from its start to a slash, is the name of a time zone: "Europe/Berlin/x"."""
    parts = name[: _LONGEST + 1].split("/", _MOST_PARTS)
    return any(zone_named("/".join(parts[:count])) is not None for count in range(1, len(parts)))
