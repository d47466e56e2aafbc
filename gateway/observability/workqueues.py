"""Metrics of the controllers' queues, under the names that Kubernetes has for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gateway.controllers.queue import BUCKETS, Histogram, WorkQueue

Queues = Sequence[WorkQueue[object]]

_DURATIONS: tuple[tuple[str, str, Callable[[WorkQueue[object]], Histogram]], ...] = (
    ("workqueue_queue_duration_seconds", "How long an item stays in the queue.", lambda queue: queue.waited),
    ("workqueue_work_duration_seconds", "How long processing an item takes.", lambda queue: queue.worked),
)
_NUMBERS: tuple[tuple[str, str, str, Callable[[WorkQueue[object]], float]], ...] = (
    ("workqueue_depth", "gauge", "Items that wait.", len),
    ("workqueue_adds_total", "counter", "Items that were added.", lambda queue: queue.adds),
    ("workqueue_retries_total", "counter", "Items that came back after a failure.", lambda queue: queue.retries),
    (
        "workqueue_unfinished_work_seconds",
        "gauge",
        "Seconds of work under way that are not in work_duration yet.",
        lambda queue: sum(queue.under_way()),
    ),
    (
        "workqueue_longest_running_processor_seconds",
        "gauge",
        "Seconds for which the longest work under way has been going on.",
        lambda queue: max(queue.under_way(), default=0.0),
    ),
)


def lines(queues: Queues) -> Iterator[str]:
    """The lines of the text format; none where no controllers run."""
    if not queues:
        return
    for name, kind, help_, value_of in _NUMBERS:
        yield f"# HELP {name} {help_}"
        yield f"# TYPE {name} {kind}"
        for queue in queues:
            yield f'{name}{{name="{queue.name}"}} {value_of(queue):g}'
    for name, help_, histogram_of in _DURATIONS:
        yield f"# HELP {name} {help_}"
        yield f"# TYPE {name} histogram"
        for queue in queues:
            yield from _histogram(name, queue.name, histogram_of(queue))


def _histogram(name: str, queue: str, histogram: Histogram) -> Iterator[str]:
    seen = 0
    for bound, count in zip((*BUCKETS, "+Inf"), histogram.counts, strict=True):
        seen += count
        shown = bound if isinstance(bound, str) else f"{bound:g}"
        yield f'{name}_bucket{{name="{queue}",le="{shown}"}} {seen}'
    yield f'{name}_sum{{name="{queue}"}} {histogram.total:g}'
    yield f'{name}_count{{name="{queue}"}} {seen}'
