"""The part of a request for which a connection waits."""

from __future__ import annotations

from enum import IntEnum


class Stage(IntEnum):
    """What the parser is in the middle of."""

    IDLE = 0
    HEAD = 1
    BODY = 2
