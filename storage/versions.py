"""Rules that depend on etcd's version."""

from __future__ import annotations

import re

OLDEST = (3, 4, 0)  # the first version with all that this server uses
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(-)?")


def parse_version(version: str) -> tuple[int, int, int]:
    """(major, minor, patch) of "3.5.13" or "3.6.0-rc.1"; (0, 0, 0) for a text that is not a version."""
    match = _VERSION.match(version)
    return (int(match[1]), int(match[2]), int(match[3])) if match else (0, 0, 0)


def survives_kill(version: str) -> bool:
    """Whether a cluster of one member still has all acknowledged writes after its process was killed.

    Earlier versions could answer before the write was in their log (etcd issue 14370, fixed in 3.4.21 and 3.5.5).
    """
    parsed = parse_version(version)
    return parsed >= (3, 5, 5) or (3, 4, 21) <= parsed < (3, 5, 0)


def progress_notifications_correct(version: str) -> bool:
    """Whether a requested progress notification of etcd always comes after all events up to its revision.

    In earlier versions it could overtake them (etcd issue 15220, fixed in 3.4.31, 3.5.13 and 3.6.0). A pre-release of
    3.4.31 or 3.5.13 counts as not fixed; a pre-release of 3.6.0 counts as fixed.
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
