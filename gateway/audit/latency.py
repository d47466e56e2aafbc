"""Where a slow request's time went, as annotations of its last event.

As apiserver's `pkg/endpoints/filters/audit.go` and `pkg/endpoints/request/webhook_duration.go` have them; what is never
waited for here, such as decoding what etcd holds, is left out.
"""

from __future__ import annotations

import time

from storage.timing import Waited

_PREFIX = "apiserver.latency.k8s.io/"
_SLOW = 0.5  # seconds from which on it is told
_UNITS = ((1_000, 1, "ns"), (1_000_000, 1_000, "µs"), (1_000_000_000, 1_000_000, "ms"))


class Latency:
    """The stages of a request that began at a moment of the monotonic clock, and how long each took."""

    def __init__(self, began: float) -> None:
        self._began = self._last = began
        self._seconds: dict[str, float] = {}
        self._etcd = Waited.begin()

    def passed(self, stage: str, at_least: float = 0.0) -> None:
        """What has been going on since the last call was of that stage; "" for one that nobody asks about."""
        now = time.monotonic()
        if stage and now - self._last >= at_least:
            self.took(stage, now - self._last)
        self._last = now

    def took(self, stage: str, seconds: float) -> None:
        """Adds to the time of a stage."""
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds

    def annotations(self) -> dict[str, str]:
        """What there is to tell of the request now that it is over: nothing where it was not slow."""
        total = time.monotonic() - self._began
        if total <= _SLOW:
            return {}
        found = {**self._seconds, "etcd": self._etcd.seconds, "total": total}
        return {_PREFIX + stage: duration(seconds) for stage, seconds in found.items() if seconds}


def duration(seconds: float) -> str:
    """A time as Go writes a Duration: 1m0.5s, 12.3ms."""
    nanos = round(seconds * 1e9)
    for below, unit, name in _UNITS:
        if nanos < below:
            return f"{_decimal(nanos, unit)}{name}"
    minutes, rest = divmod(nanos, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 1_000_000_000)}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text


def _decimal(nanos: int, unit: int) -> str:
    whole, fraction = divmod(nanos, unit)
    digits = len(str(unit)) - 1
    return f"{whole}.{fraction:0{digits}d}".rstrip("0").rstrip(".") if fraction else str(whole)
