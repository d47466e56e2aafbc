"""Batches of events, and how many of them may be sent in a second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Batching:
    """How many events may wait, how many go together, how long (seconds) one waits for others, the first pause.

    `rate` batches may go in a second, and `burst` at once after a while without any; no rate is no limit.
    """

    most: int = 10_000
    size: int = 400
    wait: float = 30.0
    pause: float = 10.0
    rate: float = 0.0
    burst: int = 0


class Throttle:
    """A token bucket: it fills with `rate` tokens a second up to `burst`, and each batch takes one."""

    def __init__(self, rate: float, burst: int, now: float) -> None:
        self._rate, self._burst = rate, burst
        self._tokens, self._since = float(burst), now

    def delay(self, now: float) -> float:
        """Takes a token; the seconds until it is there."""
        if not self._rate:
            return 0.0
        self._tokens = min(self._burst, self._tokens + (now - self._since) * self._rate) - 1
        self._since = now
        return max(0.0, -self._tokens / self._rate)
