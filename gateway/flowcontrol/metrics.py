"""Metrics of the requests of one flow schema at one priority level, under kube-apiserver's names."""

from __future__ import annotations

from storage.instruments import BETA, by, gauge, histogram

_OF_FLOWS = ("priority_level", "flow_schema")
_OF = (by("priority level", "priority_level"), by("flow schema", "flow_schema"))
_SECONDS = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
_PREFIX = "apiserver_flowcontrol_"

EXECUTING = gauge(
    f"{_PREFIX}current_executing_requests", "Requests that are executing.", *_OF_FLOWS, level=BETA, of=_OF
)
SEATS = gauge(f"{_PREFIX}current_executing_seats", "Seats in use.", *_OF_FLOWS, level=BETA, of=_OF)
WAITING = gauge(f"{_PREFIX}current_inqueue_requests", "Requests that wait for seats.", *_OF_FLOWS, level=BETA, of=_OF)
WAITED = histogram(
    f"{_PREFIX}request_wait_duration_seconds",
    "Time that requests waited for seats, whether they got them (execute) or not.",
    *_OF_FLOWS,
    "execute",
    buckets=_SECONDS,
    level=BETA,
    of=_OF,
)
EXECUTED = histogram(
    f"{_PREFIX}request_execution_seconds",
    "Time for which requests held their seats.",
    *_OF_FLOWS,
    "type",
    buckets=_SECONDS,
    of=_OF,
)
WORK = histogram(
    f"{_PREFIX}work_estimated_seats",
    "Seats that requests took.",
    *_OF_FLOWS,
    buckets=(1, 2, 4, 8, 16, 32, 64, 100),
    of=_OF,
)


class FlowMeasures:
    """The metrics with the labels of one flow schema and priority level."""

    __slots__ = ("executed", "executing", "refused", "seats", "waited", "waiting", "work")

    def __init__(self, level: str, schema: str) -> None:
        self.executing, self.seats = EXECUTING.labels(level, schema), SEATS.labels(level, schema)
        self.waiting, self.work = WAITING.labels(level, schema), WORK.labels(level, schema)
        self.waited = WAITED.labels(level, schema, "true")
        self.refused = WAITED.labels(level, schema, "false")
        self.executed = EXECUTED.labels(level, schema, "regular")

    def begin(self, seats: int) -> None:
        """Counts a request that has got its seats."""
        self.executing.value += 1
        self.seats.value += seats
        self.work.observe(seats)

    def end(self, seats: int, seconds: float) -> None:
        """Counts a request that has given its seats back."""
        self.executing.value -= 1
        self.seats.value -= seats
        self.executed.observe(seconds)
