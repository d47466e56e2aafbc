"""How many seats the requests of a priority level wanted over a period: average, standard deviation and peak."""

from __future__ import annotations

import math

COEFFICIENT = 0.977  # the weight of earlier periods in `smoothed`


class Demand:
    """A number of seats as it changes over time. Times are seconds of a monotonic clock."""

    __slots__ = (
        "_area",
        "_began",
        "_changed",
        "_now",
        "_squares",
        "average",
        "deviation",
        "peak",
        "peaked",
        "smoothed",
    )

    def __init__(self, now: float) -> None:
        self._began = self._changed = now
        self._area = self._squares = 0.0
        self._now = self.peak = 0
        self.smoothed = self.average = self.deviation = 0.0  # these, and `peaked`, are of the last period
        self.peaked = 0

    def note(self, seats: int, now: float) -> None:
        """Sets the number of seats from `now` on."""
        span, before = now - self._changed, self._now
        self._area += span * before
        self._squares += span * before * before
        self._changed, self._now = now, seats
        if seats > self.peak:
            self.peak = seats

    def sample(self, now: float) -> int:
        """Ends a period: updates `smoothed`, and returns the period's peak. KEP-1040, "Dispatching"."""
        self.note(self._now, now)
        span = now - self._began
        average = self._area / span if span > 0 else float(self._now)
        variance = self._squares / span - average * average if span > 0 else 0.0
        self.average, self.deviation, self.peaked = average, math.sqrt(max(variance, 0.0)), self.peak
        envelope = average + self.deviation
        self.smoothed = max(envelope, COEFFICIENT * self.smoothed + (1 - COEFFICIENT) * envelope)
        peak, self.peak = self.peak, self._now
        self._began, self._area, self._squares = now, 0.0, 0.0
        return peak
