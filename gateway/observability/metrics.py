"""Metrics in Prometheus' text format, read off the running parts when somebody asks."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

from gateway.observability import audit, flowcontrol, workqueues
from gateway.requests.parts import Gateway
from instruments import exposition as families
from instruments.snapshot import snapshots

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8; escaping=underscores"


def exposition(gateway: Gateway) -> bytes:
    """All metrics as text."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    lines = [
        *_metric("process_cpu_seconds_total", "counter", "CPU time of the process.", usage.ru_utime + usage.ru_stime),
        *_metric("process_resident_memory_bytes", "gauge", "Resident memory of the process.", _resident_bytes()),
        *_metric("process_time_seconds", "gauge", "The process' clock.", time.time()),
        *_metric(
            "apiserver_watch_cache_resource_version",
            "gauge",
            "The revision up to which the watch cache has seen every change.",
            gateway.store.reads.reached,
        ),
        *_metric(
            "apiserver_unowned_bytes",
            "gauge",
            "Bytes kept in memory for resources that are not registered.",
            gateway.store.cache.unowned.size,
        ),
        *_objects(gateway),
        *workqueues.lines(gateway.controllers.queues() if gateway.controllers else ()),
        *flowcontrol.lines(gateway.services.limiter, gateway.services.watches.total()),
        *audit.lines(gateway.services.audit.counts if gateway.services.audit else None),
        *_checks(gateway),
    ]
    return "\n".join(lines).encode() + b"\n" + families.exposition(snapshots())


def _metric(name: str, kind: str, help_: str, value: float) -> list[str]:
    return [f"# HELP {name} {help_}", f"# TYPE {name} {kind}", f"{name} {value}"]


def _objects(gateway: Gateway) -> list[str]:
    name = "apiserver_resource_objects"
    lines = [f"# HELP {name} Objects in the watch cache, by kind.", f"# TYPE {name} gauge"]
    for served, cache in gateway.endpoints.caches():
        lines.append(f'{name}{{group="{served.group}",resource="{served.resource}"}} {len(cache)}')
    return lines


def _checks(gateway: Gateway) -> list[str]:
    name = "apiserver_storage_consistency_checks_total"
    lines = [f"# HELP {name} Comparisons of the watch cache with etcd, by what they found.", f"# TYPE {name} counter"]
    counts = gateway.services.checker.counts
    for served, cache in gateway.endpoints.caches():
        for status in ("success", "failure", "error"):
            count = counts[cache.spec.prefix, status]
            if count:
                labels = f'group="{served.group}",resource="{served.resource}",status="{status}"'
                lines.append(f"{name}{{{labels}}} {count}")
    return lines


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
