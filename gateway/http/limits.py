"""The limits of connections; docs/reference/limits.md says where each limit comes from."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from gateway.http.connection_end import Departures


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """The limits of one connection."""

    head_bytes: int = (1 << 20) + 4096  # of a request's line and headers
    head_seconds: float = 32.0  # from the first byte of a request's head, or from the connect, to the head's last byte
    body_rate: int = 240  # bytes a second, measured over `body_window`
    body_window: float = 5.0
    pipelined: int = 64  # requests that wait while an earlier one is answered
    unread_body: int = 256 * 1024  # bytes of a body that are read after the answer was sent
    framing: int = 64 * 1024  # bytes of chunk headers and trailers in a chunked body, beyond a few for each body byte
    stall: float = 60.0  # seconds without reading, after which a client with unread data is disconnected


@dataclass(slots=True)
class Heads:
    """The memory of large request heads that are being received on all connections of a process, in bytes."""

    size: int = 0
    most: int = 64 << 20
    small: int = 16 * 1024  # the first bytes of each head, which are not counted


@dataclass(slots=True)
class Farewell:
    """The ends of a process's connections. Whether an answer closes its connection: every answer once the process is
    about to stop (`begun`), before that a random share (`chance`, from 0 to 1). `departures` are the lost ones.
    """

    begun: bool = False
    chance: float = 0.0
    departures: Departures = field(default_factory=Departures)

    def is_due(self) -> bool:
        return self.begun or (self.chance > 0 and random.random() < self.chance)


def limits_of(head_seconds: float, body_rate: int) -> HttpLimits:
    """The limits, with those of the settings. A short `head_seconds` shortens `body_window` and `stall`, too."""
    standard = HttpLimits()
    return replace(
        standard,
        head_seconds=head_seconds,
        body_rate=body_rate,
        body_window=min(standard.body_window, head_seconds),
        stall=min(standard.stall, 2 * head_seconds),
    )
