"""The metrics of work queues are in Prometheus' format, and are consistent."""

from __future__ import annotations

from gateway.observability.workqueues import follow
from gateway.work_queue import WorkQueue
from storage.instruments.exposition import exposition
from storage.instruments.snapshot import snapshots


async def test_depth_adds_and_durations_are_told_for_each_queue() -> None:
    queue: WorkQueue[object] = WorkQueue("told")
    for key in "abc":
        queue.add(key)
    queue.done(await queue.get())
    follow(lambda: [queue])
    text = exposition(snapshots()).decode().splitlines()
    assert 'workqueue_depth{name="told"} 2' in text
    assert 'workqueue_adds_total{name="told"} 3' in text
    assert 'workqueue_queue_duration_seconds_count{name="told"} 1' in text
    assert 'workqueue_work_duration_seconds_bucket{name="told",le="+Inf"} 1' in text
    assert 'workqueue_work_duration_seconds_bucket{name="told",le="1e-08"} 0' in text


def test_nothing_is_told_where_no_controllers_run() -> None:
    follow(lambda: [])
    assert b"workqueue_depth" not in exposition(snapshots())
