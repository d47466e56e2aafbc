"""What "API Priority and Fairness" shows of itself: metrics, and the tables under /debug/api_priority_and_fairness."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gateway.flowcontrol.level import Cause, Level
from gateway.flowcontrol.limiting import FlowControl, InFlight, Limiter

DEBUG = "/debug/api_priority_and_fairness"

_GAUGES: tuple[tuple[str, str, Callable[[Level], float]], ...] = (
    ("apiserver_flowcontrol_nominal_limit_seats", "Seats that are a level's own.", lambda level: level.limits.nominal),
    ("apiserver_flowcontrol_lower_limit_seats", "Seats that it never lends.", lambda level: level.limits.least),
    ("apiserver_flowcontrol_upper_limit_seats", "Seats that it may borrow up to.", lambda level: level.limits.most),
    ("apiserver_flowcontrol_current_limit_seats", "Seats that it has now.", lambda level: level.limit),
    ("apiserver_flowcontrol_current_executing_seats", "Seats that are taken.", lambda level: level.in_use),
    ("apiserver_flowcontrol_current_executing_requests", "Requests under way.", lambda level: level.executing),
    ("apiserver_flowcontrol_current_inqueue_requests", "Requests that wait.", lambda level: level.waiting),
    ("apiserver_flowcontrol_demand_seats_smoothed", "Seats wanted, smoothed.", lambda level: level.demand.smoothed),
)


def lines(limiter: Limiter, watches: int) -> Iterator[str]:
    """The lines of the metrics' text format."""
    yield "# HELP apiserver_longrunning_requests Watches that are open."
    yield "# TYPE apiserver_longrunning_requests gauge"
    yield f'apiserver_longrunning_requests{{verb="WATCH"}} {watches}'
    if isinstance(limiter, InFlight):
        yield "# HELP apiserver_current_inflight_requests Requests under way."
        yield "# TYPE apiserver_current_inflight_requests gauge"
        for kind, count in zip(("readOnly", "mutating"), limiter.under_way, strict=True):
            yield f'apiserver_current_inflight_requests{{request_kind="{kind}"}} {count}'
    if not isinstance(limiter, FlowControl):
        return
    levels = sorted(limiter.configuration.levels.items())
    for name, help_, value_of in _GAUGES:
        yield f"# HELP {name} {help_}"
        yield f"# TYPE {name} gauge"
        for level_name, level in levels:
            yield f'{name}{{priority_level="{level_name}"}} {value_of(level):g}'
    yield "# HELP apiserver_flowcontrol_dispatched_requests_total Requests that were let in."
    yield "# TYPE apiserver_flowcontrol_dispatched_requests_total counter"
    for level_name, level in levels:
        for schema, count in sorted(level.dispatched.items()):
            labels = f'flow_schema="{schema}",priority_level="{level_name}"'
            yield f"apiserver_flowcontrol_dispatched_requests_total{{{labels}}} {count}"
    yield "# HELP apiserver_flowcontrol_rejected_requests_total Requests that were refused."
    yield "# TYPE apiserver_flowcontrol_rejected_requests_total counter"
    for level_name, level in levels:
        for (schema, cause), count in sorted(level.refusals.items(), key=str):
            labels = f'flow_schema="{schema}",priority_level="{level_name}",reason="{cause.value}"'
            yield f"apiserver_flowcontrol_rejected_requests_total{{{labels}}} {count}"


def dump(limiter: Limiter, what: str) -> str | None:
    """One of the tables; None for one that there is not."""
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


def _level_row(name: str, level: Level) -> list[object]:
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


def _queue_rows(name: str, level: Level) -> Iterator[list[object]]:
    for queue in level.queues() if level.queuing.queues else ():
        sums = sum(each.seats for each in queue.waiting)
        yield [
            name, queue.index, len(queue.waiting), queue.executing, queue.in_use, f"{queue.start:.8f}ss", sums, sums,
            f"{sums * 0.003:.8f}ss",
        ]  # fmt: skip


def _table(columns: tuple[str, ...], rows: list[list[object]]) -> str:
    """Columns between commas, aligned as Go's tabwriter does with a padding of one and a width of at least eight."""
    texts = [[f"{cell}," for cell in row[:-1]] + [str(row[-1])] for row in (columns, *rows)]
    widths = [max(8, *(len(row[index]) + 1 for row in texts)) for index in range(len(columns) - 1)]
    return "".join(
        "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + row[-1] + "\n" for row in texts
    )
