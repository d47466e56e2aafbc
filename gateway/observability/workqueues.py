"""Metrics of the controllers' work queues, under client-go's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gateway.work_queue import WorkQueue
from storage.instruments import BETA, counter, gauge
from storage.instruments.families import Labels

Queues = Callable[[], Sequence[WorkQueue[object]]]

DEPTH = gauge("workqueue_depth", "Items that wait.", "name", level=BETA)
ADDS = counter("workqueue_adds_total", "Items that were added.", "name", level=BETA)
RETRIES = counter("workqueue_retries_total", "Items that were queued again after a failure.", "name", level=BETA)
UNFINISHED = gauge(
    "workqueue_unfinished_work_seconds",
    "Seconds of work under way that are not in work_duration yet.",
    "name",
    level=BETA,
)
LONGEST = gauge(
    "workqueue_longest_running_processor_seconds",
    "Duration so far of the longest work in progress.",
    "name",
    level=BETA,
    across="max",
)


def follow(queues: Queues) -> None:
    """Makes the families report these queues. `queues` returns an empty list while no controllers run."""

    def read(value_of: Callable[[WorkQueue[object]], float]) -> Callable[[], Mapping[Labels, float]]:
        return lambda: {(queue.name,): value_of(queue) for queue in queues()}

    DEPTH.reads(read(len))
    ADDS.reads(read(lambda queue: queue.adds))
    RETRIES.reads(read(lambda queue: queue.retries))
    UNFINISHED.reads(read(lambda queue: sum(queue.under_way())))
    LONGEST.reads(read(lambda queue: max(queue.under_way(), default=0.0)))
