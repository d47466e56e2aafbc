"""What connections may take; docs/limits.md says where each limit comes from."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """What one connection may take."""

    head_bytes: int = (1 << 20) + 4096  # of a request's line and headers
    head_seconds: float = 32.0  # from a head's first byte, or the connection, to its last
    body_rate: int = 240  # bytes a second, measured over `body_window`
    body_window: float = 5.0
    pipelined: int = 64  # requests that wait for their turn
    unread_body: int = 256 * 1024  # bytes of a body that are read after the answer was given
    framing: int = 64 * 1024  # bytes that a chunked body has beyond a few for each of its own
    stall: float = 60.0  # seconds in which a client reads nothing of what waits for it


@dataclass(slots=True)
class Heads:
    """The large heads that are coming in on all connections of a process: bytes, and how many there may be."""

    size: int = 0
    most: int = 64 << 20
    small: int = 16 * 1024  # bytes of a head that do not count


@dataclass(slots=True)
class Farewell:
    """Whether answers end their connections: all of them once the process is about to stop, a share of them before."""

    begun: bool = False
    chance: float = 0.0

    def is_due(self) -> bool:
        return self.begun or (self.chance > 0 and random.random() < self.chance)


def limits_of(head_seconds: float, body_rate: int) -> Limits:
    """The limits with those that are settings; a short patience with heads is one with bodies, too."""
    standard = Limits()
    return replace(
        standard,
        head_seconds=head_seconds,
        body_rate=body_rate,
        body_window=min(standard.body_window, head_seconds),
        stall=min(standard.stall, 2 * head_seconds),
    )
