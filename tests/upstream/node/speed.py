"""How fast a Deployment's pods become Running on two nodes: on this server, and on a kube-apiserver after it.

For each: the CPU of the API server while the cluster rests; then seconds until all are Running, the time from a pod's
creation until a watch shows it Running (p50, p99), the CPU of the API server, and how long its requests took. Compare
the ratios: both share the machine with their nodes.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.benchmarks.kept import Row, keep
from tests.upstream.node.cluster import Cluster, cluster
from tests.upstream.node.images import PAUSE
from tests.upstream.node.joining import join

MINUTES = 10
SECONDS_OF_REST = 30
_BUCKET = re.compile(r'apiserver_request_duration_seconds_bucket\{(.*),le="([^"]+)"\} (\S+)')


@dataclass(frozen=True)
class Speed:
    """What one server took. Latencies are in seconds; those of requests are upper bounds of buckets.

    `idle` is the part of a core while nothing happens.
    """

    idle: float
    all_running: float
    start_p50: float
    start_p99: float
    cpu: float
    memory: float
    request_p50: float
    request_p99: float


# How the page of measurements names these, with a factor and a unit.
_CASES = {
    "idle": ("CPU of the API server while nothing happens", 100, "% of a core"),
    "all_running": ("until all are Running", 1, "s"),
    "start_p50": ("a pod from its creation until Running, p50", 1, "s"),
    "start_p99": ("a pod from its creation until Running, p99", 1, "s"),
    "cpu": ("CPU of the API server until all are Running", 1, "s"),
    "memory": ("memory of the API server, peak", 1, "MiB"),
    "request_p50": ("requests, p50 below", 1000, "ms"),
    "request_p99": ("requests, p99 below", 1000, "ms"),
}


def run(pods: int, rounds: int, *, is_kept: bool = False) -> int:
    """Measures and prints. `is_kept` stores medians for the page of measurements.

    Returns the exit status. Raises NoNodes and AssertionError.
    """
    found, loads = list[tuple[Speed, Speed]](), list[float]()
    for number in range(rounds):
        found.append((measured(pods, is_real=False), measured(pods, is_real=True)))
        loads.append(os.getloadavg()[0])
        print(f"round {number + 1}: {pods} pods, at a load of {loads[-1]:.0f} on {os.cpu_count()} cores")
        print(f"{'':12} {'gateway':>10} {'kube-apiserver':>15} {'ratio':>7}")
        for name in _CASES:
            here, there = (getattr(each, name) for each in found[-1])
            print(f"{name:12} {here:10.3f} {there:15.3f} {here / there if there else 0:7.2f}", flush=True)
    if is_kept:
        said = f"medians of {rounds} rounds, load {min(loads):.0f} to {max(loads):.0f}"
        keep(rows(pods, found), f"`python -m tests.upstream node speed --pods {pods}`, {said}")
    return 0


def rows(pods: int, rounds: Sequence[tuple[Speed, Speed]]) -> Iterator[Row]:
    """The medians of rounds, each of this server and a kube-apiserver."""
    for name, (case, factor, unit) in _CASES.items():
        ours, real = (statistics.median(getattr(each[side], name) * factor for each in rounds) for side in (0, 1))
        yield Row(f"{pods} pods of one Deployment on two nodes", case, ours, unit, "kube-apiserver", real)


def measured(pods: int, *, is_real: bool) -> Speed:
    """Runs a cluster, and a Deployment of so many pods. Raises NoNodes and AssertionError."""
    with cluster(is_real=is_real) as made:
        for name in ("n1", "n2"):
            join(made, name)
        idle = _idle(made)
        before, requests, began = made.use(), _requests(made), time.monotonic()
        made.kubectl("create", "-f", "-", given=json.dumps(_deployment(pods)))
        starts = sorted(_starts(made, pods))
        took, after = time.monotonic() - began, made.use()
        answered = _requests(made)
        answered.subtract(requests)
    return Speed(
        idle,
        took,
        starts[len(starts) // 2],
        starts[int(len(starts) * 0.99)],
        after.cpu - before.cpu,
        after.memory,
        _quantile(answered, 0.5),
        _quantile(answered, 0.99),
    )


def _idle(made: Cluster) -> float:
    """The part of a core that the API server uses in half a minute, for the requests of nodes and controllers alone."""
    began, used = time.monotonic(), made.use().cpu
    with contextlib.suppress(subprocess.TimeoutExpired):
        made.processes["apiserver"].wait(SECONDS_OF_REST)
    return (made.use().cpu - used) / (time.monotonic() - began)


def _deployment(pods: int) -> dict[str, Any]:
    labels = {"app": "speed"}
    container = {"name": "pause", "image": PAUSE, "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": pods, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "speed"}, "spec": spec}


def _starts(made: Cluster, pods: int) -> Iterator[float]:
    """For each pod, the seconds from its creation until a watch shows it Running. Raises AssertionError."""
    seen, end = set[str](), time.monotonic() + MINUTES * 60
    while len(seen) < pods and time.monotonic() < end:  # a server may end a watch, of a slow reader for example
        for pod in _watched(made):
            name = pod["metadata"]["name"]
            if pod["status"].get("phase") == "Running" and name not in seen:
                seen.add(name)
                made_at = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
                yield (datetime.now(UTC) - made_at).total_seconds()
            if len(seen) == pods:
                break
    assert len(seen) == pods, f"{len(seen)} of {pods} pods were Running after {MINUTES} minutes"


def _watched(made: Cluster) -> Iterator[dict[str, Any]]:
    """The pods as one watch shows them."""
    words = made.kubectl_words("get", "pods", "-l", "app=speed", "--watch", "--output=json")
    watching = subprocess.Popen(made.inside(["timeout", str(MINUTES * 60), *words]), stdout=subprocess.PIPE, text=True)
    assert watching.stdout is not None
    buffered = ""
    try:
        for line in watching.stdout:
            buffered += line
            if line == "}\n":
                yield json.loads(buffered)
                buffered = ""
    finally:
        watching.terminate()
        watching.stdout.close()
        watching.wait()


def _requests(made: Cluster) -> Counter[float]:
    """How many requests, without watches and streams, took at most so many seconds."""
    found = Counter[float]()
    for line in made.kubectl("get", "--raw", "/metrics").splitlines():
        if (bucket := _BUCKET.match(line)) and not re.search('verb="(WATCH|CONNECT)"', bucket[1]):
            found[float(bucket[2])] += int(float(bucket[3]))
    return found


def _quantile(buckets: Counter[float], part: float) -> float:
    """The upper bound of the bucket in which a part of the requests has been answered."""
    wanted = buckets[float("inf")] * part
    return min((bound for bound, count in buckets.items() if count >= wanted), default=0.0)
