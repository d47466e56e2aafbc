"""How long a throw-away server takes to start, etcd included, and to stop; and to keep and restore a thousand objects.

    python -m tests.benchmarks.starting [--rounds 9]

Times and CPU seconds of the server, medians. They are of an idle machine with 2 cores, or they say little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

from apiserver_gateway.testing import ApiServer, api_server, ask, namespace, restore, snapshot
from tests.integration.server.test_processes import cpu_seconds

TARGETS = {
    "start, with etcd": 1.0,
    "stop": 0.2,
    "snapshot of 1000 objects": 0.05,
    "restore, 10 changed": 0.05,
    "restore, all deleted": 0.05,
}


def timed(action: Callable[[], object]) -> float:
    began = time.monotonic()
    action()
    return time.monotonic() - began


def starts(rounds: int) -> dict[str, list[float]]:
    """The seconds of starts and stops, and the CPU seconds of starts."""
    found: dict[str, list[float]] = {"start, with etcd": [], "stop": [], "start, CPU of the server": []}
    for _ in range(rounds):
        with api_server() as server:
            found["start, with etcd"].append(server.start_seconds)
            found["start, CPU of the server"].append(cpu_seconds(server.pid))
            found["stop"].append(timed(server.stop))
    return found


def states(rounds: int) -> dict[str, list[float]]:
    """The seconds that snapshots take, and restoring them."""
    found: dict[str, list[float]] = {
        "snapshot of 1000 objects": [],
        "restore, 10 changed": [],
        "restore, all deleted": [],
    }
    with api_server() as server, namespace(server) as name:
        path = f"/api/v1/namespaces/{name}/configmaps"
        _fill(server, path)
        for _ in range(rounds):
            kept = snapshot(server)
            found["snapshot of 1000 objects"].append(timed(lambda: snapshot(server)))
            for number in range(10):
                ask(server, "DELETE", f"{path}/a-{number}")
            found["restore, 10 changed"].append(timed(lambda kept=kept: restore(server, kept)))  # type: ignore[misc]
            ask(server, "DELETE", path)
            found["restore, all deleted"].append(timed(lambda kept=kept: restore(server, kept)))  # type: ignore[misc]
    return found


def _fill(server: ApiServer, path: str) -> None:
    for number in range(1000):
        ask(server, "POST", path, {"metadata": {"name": f"a-{number}"}, "data": {"value": "x" * 500}})


def report(rounds: int) -> list[dict[str, object]]:
    """Prints the medians, and what they should be; they come out, too."""
    shown: list[dict[str, object]] = []
    print(f"{'seconds, median (least, most); load ' + format(os.getloadavg()[0], '.1f'):54s}{'target':>8s}", flush=True)
    for measure in (starts, states):
        for case, seconds in measure(rounds).items():
            target = TARGETS.get(case)
            median = statistics.median(seconds)
            shown.append({"case": case, "seconds": median, "target": target})
            mark = "   above" if target is not None and median > target else ""
            numbers = f"{median:.3f} ({min(seconds):.3f}, {max(seconds):.3f})"
            print(f"{case:30s}{numbers:>24s}{target or '':>8}{mark}", flush=True)
    return shown


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    report(parser.parse_args().rounds)
