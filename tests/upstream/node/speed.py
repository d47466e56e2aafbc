"""How fast a Deployment's pods become Running on two nodes: on this server, and on a kube-apiserver after it.

For each: seconds until all are Running, the time from a pod's creation until a watch shows it Running (p50, p99), the
CPU of the API server, and how long its requests took. Compare the ratios: both share the machine with their nodes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.upstream.node.cluster import Cluster, cluster
from tests.upstream.node.images import PAUSE
from tests.upstream.node.joining import join

MINUTES = 10
_BUCKET = re.compile(r'apiserver_request_duration_seconds_bucket\{(.*),le="([^"]+)"\} (\S+)')


@dataclass(frozen=True)
class Speed:
    """What one server took. Latencies are in seconds; those of requests are upper bounds of buckets."""

    all_running: float
    start_p50: float
    start_p99: float
    cpu: float
    memory: float
    request_p50: float
    request_p99: float


def run(pods: int, rounds: int) -> int:
    """Measures and prints. Returns the exit status. Raises NoNodes and AssertionError."""
    for number in range(rounds):
        ours, real = measured(pods, is_real=False), measured(pods, is_real=True)
        print(f"round {number + 1}: {pods} pods, at a load of {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")
        print(f"{'':12} {'gateway':>10} {'kube-apiserver':>15} {'ratio':>7}")
        for name in Speed.__dataclass_fields__:
            here, there = getattr(ours, name), getattr(real, name)
            print(f"{name:12} {here:10.3f} {there:15.3f} {here / there if there else 0:7.2f}", flush=True)
    return 0


def measured(pods: int, *, is_real: bool) -> Speed:
    """Runs a cluster, and a Deployment of so many pods. Raises NoNodes and AssertionError."""
    with cluster(is_real=is_real) as made:
        for name in ("n1", "n2"):
            join(made, name)
        before, requests, began = made.use(), _requests(made), time.monotonic()
        made.kubectl("create", "-f", "-", given=json.dumps(_deployment(pods)))
        starts = sorted(_starts(made, pods))
        took, after = time.monotonic() - began, made.use()
        answered = _requests(made)
        answered.subtract(requests)
    return Speed(
        took,
        starts[len(starts) // 2],
        starts[int(len(starts) * 0.99)],
        after.cpu - before.cpu,
        after.memory,
        _quantile(answered, 0.5),
        _quantile(answered, 0.99),
    )


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
