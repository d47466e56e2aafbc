"""Metrics of API Priority and Fairness, and its tables under /debug/api_priority_and_fairness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gateway.flowcontrol.configuration import FlowConfiguration
from gateway.flowcontrol.level import Cause, PriorityLevel
from gateway.flowcontrol.limiter import FlowControl, Limiter
from storage.instruments import ALPHA, BETA, counter, gauge
from storage.instruments.families import Labels

DEBUG = "/debug/api_priority_and_fairness"

_PREFIX = "apiserver_flowcontrol_"
_GAUGES = (
    (
        "nominal_limit_seats",
        "Seats of the level before borrowing and lending.",
        BETA,
        lambda level: level.limits.nominal,
    ),
    ("lower_limit_seats", "Seats that the level never lends.", ALPHA, lambda level: level.limits.least),
    ("upper_limit_seats", "Most seats that the level may have by borrowing.", ALPHA, lambda level: level.limits.most),
    ("current_limit_seats", "Seats that the level has now.", ALPHA, lambda level: level.limit),
    ("demand_seats_average", "Seats wanted in the last period, on average.", ALPHA, lambda level: level.demand.average),
    (
        "demand_seats_stdev",
        "Standard deviation of the seats wanted in the last period.",
        ALPHA,
        lambda level: level.demand.deviation,
    ),
    ("demand_seats_high_watermark", "Most seats wanted in the last period.", ALPHA, lambda level: level.demand.peaked),
    ("target_seats", "Target of the level when seats were last divided.", ALPHA, lambda level: level.target),
    ("demand_seats_smoothed", "Seats wanted, smoothed.", ALPHA, lambda level: level.demand.smoothed),
)  # type: tuple[tuple[str, str, str, Callable[[PriorityLevel], float]], ...]
_FAMILIES = [
    (gauge(_PREFIX + name, help_, "priority_level", level=stability), value_of)
    for name, help_, stability, value_of in _GAUGES
]
DISPATCHED = counter(
    f"{_PREFIX}dispatched_requests_total",
    "Requests that began to execute.",
    "priority_level",
    "flow_schema",
    level=BETA,
)
REJECTED = counter(
    f"{_PREFIX}rejected_requests_total",
    "Requests that were refused.",
    "priority_level",
    "flow_schema",
    "reason",
    level=BETA,
)


def follow(limiter: Limiter) -> None:
    """Makes the families report the state of this limiter."""
    if not isinstance(limiter, FlowControl):
        return
    configuration = limiter.configuration
    for family, value_of in _FAMILIES:
        family.reads(_reader(configuration, value_of))
    DISPATCHED.reads(
        lambda: {
            (name, schema): n for name, level in configuration.levels.items() for schema, n in level.dispatched.items()
        }
    )
    REJECTED.reads(
        lambda: {
            (name, schema, cause.value): n
            for name, level in configuration.levels.items()
            for (schema, cause), n in level.refusals.items()
        }
    )


def _reader(
    configuration: FlowConfiguration, value_of: Callable[[PriorityLevel], float]
) -> Callable[[], Mapping[Labels, float]]:
    return lambda: {(name,): value_of(level) for name, level in configuration.levels.items()}


def dump(limiter: Limiter, what: str) -> str | None:
    """A debug table by its name, as text; None for an unknown name, or without priority and fairness."""
    if not isinstance(limiter, FlowControl):
        return None
    levels = sorted(limiter.configuration.levels.items())
    match what:
        case "dump_priority_levels":
            return _table(_LEVEL_COLUMNS, [_level_row(name, level) for name, level in levels])
        case "dump_queues":
            return _table(_QUEUE_COLUMNS, [row for name, level in levels for row in _queue_rows(name, level)])
    return None


_LEVEL_COLUMNS = (
    "PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
    "DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests",
)  # fmt: skip
_QUEUE_COLUMNS = (
    "PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR",
    "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum",
)  # fmt: skip


def _level_row(name: str, level: PriorityLevel) -> list[object]:
    refusals = {cause: sum(n for (_, each), n in level.refusals.items() if each is cause) for cause in Cause}
    return [
        name,
        sum(bool(queue.waiting) for queue in level.queues()),
        str(not (level.executing or level.waiting)).lower(),
        "false",
        level.waiting,
        level.executing,
        level.dispatched.total(),
        refusals[Cause.QUEUE_FULL] + refusals[Cause.CONCURRENCY_LIMIT],
        refusals[Cause.TIME_OUT],
        refusals[Cause.CANCELLED],
    ]


def _queue_rows(name: str, level: PriorityLevel) -> Iterator[list[object]]:
    for queue in level.queues() if level.queuing.queues else ():
        sums = sum(each.seats for each in queue.waiting)
        yield [
            name, queue.index, len(queue.waiting), queue.executing, queue.in_use,
            f"{queue.start_at(level.now()):.8f}ss", sums, sums, f"{queue.work:.8f}ss",
        ]  # fmt: skip


def _table(columns: tuple[str, ...], rows: list[list[object]]) -> str:
    """A table with commas between its columns, aligned like Go's tabwriter with padding 1 and minimal width 8."""
    texts = [[f"{cell}," for cell in row[:-1]] + [str(row[-1])] for row in (columns, *rows)]
    widths = [max(8, *(len(row[index]) + 1 for row in texts)) for index in range(len(columns) - 1)]
    return "".join(
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + row[-1] + "\n" for row in texts
    )
