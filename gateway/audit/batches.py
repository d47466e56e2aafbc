"""Settings of batches of events, and a limit for the batches per second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Batching:
    """`most` events may wait; `size` events make a batch; an event waits for others for at most `wait` seconds. `pause`
    is the first pause, in seconds, after a failed call.

    `rate` batches are sent per second, and up to `burst` at once after an idle time; rate 0 means no limit.
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
        """Takes a token; returns the seconds until the bucket has it. `now` is in seconds."""
        if not self._rate:
            return 0.0
        self._tokens = min(self._burst, self._tokens + (now - self._since) * self._rate) - 1
        self._since = now
        return max(0.0, -self._tokens / self._rate)
