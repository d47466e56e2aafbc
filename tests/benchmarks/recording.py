"""What the flight recorder costs writes: one server, on which it is begun and ended in turn."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from contextlib import ExitStack

from tests.benchmarks import load
from tests.benchmarks.allowed import requests_a_cpu_second
from tests.benchmarks.bench import Bench, serve, wait_for
from tests.benchmarks.cases import CREATE
from tests.benchmarks.objects import NAMESPACE, TOKEN, pod

CASE = "CREATE pod, recorded / not, by CPU"
TARGET = 0.95
PATH = "/testing/recorder"


def report(bench: Bench, stack: ExitStack) -> None:
    """Compares a server that records with itself."""
    if bench.options.only and bench.options.only not in CASE:
        return
    process, url = serve(bench, stack, "--testing-api")
    wait_for(bench, f"{url}/readyz")
    script, seconds = CREATE % (TOKEN, json.dumps(pod("NAME", 1))), bench.options.seconds
    path = f"{url}/api/v1/namespaces/{NAMESPACE}/pods"

    def rate(method: str) -> Callable[[], float]:
        def run() -> float:
            words = (f"r{random.randrange(1 << 30)}",)
            return load.wrk(path, TOKEN, seconds, 32, script, words)

        def measured() -> float:
            assert asyncio.run(load.send(url, TOKEN, [(method, PATH, b"")])) == [200]
            return requests_a_cpu_second(process.pid, run, seconds)

        return measured

    bench.record(CASE, rate("PUT"), rate("DELETE"), TARGET, times=3)
