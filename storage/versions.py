"""Rules that depend on etcd's version."""

from __future__ import annotations

import re

OLDEST = (3, 4, 0)  # that has what is asked of it
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(-)?")


def parse_version(version: str) -> tuple[int, int, int]:
    """(major, minor, patch) of "3.5.13" or "3.6.0-rc.1"; (0, 0, 0) when it is no version."""
    match = _VERSION.match(version)
    return (int(match[1]), int(match[2]), int(match[3])) if match else (0, 0, 0)


def survives_kill(version: str) -> bool:
    """Whether a cluster of one member still has everything it acknowledged after it was killed.

    Earlier ones could answer before the write was in their log (etcd issue 14370); mended in 3.4.21 and 3.5.5.
    """
    parsed = parse_version(version)
    return parsed >= (3, 5, 5) or (3, 4, 21) <= parsed < (3, 5, 0)


def progress_notifications_correct(version: str) -> bool:
    """Whether a requested progress notification never overtakes the events that it vouches for.

    Earlier ones could (etcd issue 15220), which was mended in 3.4.31, in 3.5.13 and for 3.6.0. A pre-release of the
    first mended patch counts as not mended, unlike one of 3.6.0 and later.
    """
    parsed = parse_version(version)
    if parsed >= (3, 6, 0):
        return True
    mended = {(3, 4): 31, (3, 5): 13}.get(parsed[:2])
    if mended is None:
        return False
    match = _VERSION.match(version)
    prerelease = match is not None and match[4] is not None
    return parsed[2] > mended or (parsed[2] == mended and not prerelease)
