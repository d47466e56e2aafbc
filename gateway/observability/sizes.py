"""Metrics that are measured at intervals: the size of etcd's database, and the tasks of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from storage.errors import StorageError
from storage.etcd import EtcdClient
from storage.instruments import STABLE, gauge

DATABASE = gauge(
    "apiserver_storage_size_bytes",
    "Bytes of etcd's database, as they were at most --etcd-db-metric-poll-interval ago.",
    "storage_cluster_id",
    level=STABLE,
    across="max",
)
TASKS = gauge("go_goroutines", "Tasks of the event loop; dashboards look for them by this name.", level="")

_OF_TASKS = 15.0  # seconds between two counts of the tasks


async def keep_told(clients: Sequence[EtcdClient], interval: float) -> None:
    """Measures until cancelled. Asks each etcd for its size every `interval` seconds; never if that is 0."""
    passed = interval
    while True:
        if interval and passed >= interval:
            passed = 0.0
            for number, client in enumerate(clients):
                cluster = f"etcd-{number}"  # kube-apiserver numbers its groups of endpoints
                try:
                    DATABASE.labels(cluster).set((await client.status()).db_size)
                except StorageError:
                    DATABASE.forget(cluster)
        TASKS.labels().set(len(asyncio.all_tasks()))
        pause = min(_OF_TASKS, interval or _OF_TASKS)
        await asyncio.sleep(pause)
        passed += pause
