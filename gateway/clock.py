"""The clock by which objects with a time to live expire. A test can set it forward instead of waiting."""

from __future__ import annotations

import time

_ahead = 0.0


def now() -> float:
    """Seconds since the epoch, by this clock."""
    return time.time() + _ahead


def advance(seconds: float) -> None:
    """Sets the clock of this process forward."""
    global _ahead
    _ahead += seconds
