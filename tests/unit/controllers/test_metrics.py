"""The queues' metrics are what Prometheus reads, and add up."""

from __future__ import annotations

from gateway.controllers.queue import WorkQueue
from gateway.observability.workqueues import lines


async def test_depth_adds_and_durations_are_told_for_each_queue() -> None:
    queue: WorkQueue[object] = WorkQueue("namespace")
    for key in "abc":
        queue.add(key)
    queue.done(await queue.get())
    text = list(lines([queue]))
    assert 'workqueue_depth{name="namespace"} 2' in text
    assert 'workqueue_adds_total{name="namespace"} 3' in text
    assert 'workqueue_queue_duration_seconds_count{name="namespace"} 1' in text
    assert 'workqueue_work_duration_seconds_bucket{name="namespace",le="+Inf"} 1' in text
    assert 'workqueue_work_duration_seconds_bucket{name="namespace",le="1e-08"} 0' in text


def test_nothing_is_told_where_no_controllers_run() -> None:
    assert list(lines([])) == []
