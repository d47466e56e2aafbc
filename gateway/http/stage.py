"""Which part of a request a connection waits for."""

from __future__ import annotations

from enum import IntEnum


class Stage(IntEnum):
    """What the parser is in the middle of."""

    IDLE = 0
    HEAD = 1
    BODY = 2
