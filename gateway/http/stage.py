"""The part of a request that a connection is receiving."""

from __future__ import annotations

from enum import IntEnum


class ParserStage(IntEnum):
    """The part of the request that the parser is reading; IDLE between two requests."""

    IDLE = 0
    HEAD = 1
    BODY = 2
