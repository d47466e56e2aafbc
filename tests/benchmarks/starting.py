"""How long a throw-away server takes to start, etcd included, and to stop; one of a pool; snapshots of 1000 objects.

    python -m tests.benchmarks.starting [--rounds 9]

Times and CPU seconds of the server, medians. They are of an idle machine with 2 cores, or they say little. Exit status
1 where one is above its target, as a stop with 1000 watches that takes more than 0.3 s.
"""

from __future__ import annotations

import argparse
import os
import socket
import ssl
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack

from apiserver_gateway.testing import ApiServer, api_server, ask, namespace, restore, snapshot
from apiserver_gateway.testing.pool import Pool
from tests.integration.server.test_processes import cpu_seconds
from tests.integration.testing.test_pool import private_megabytes
from tests.until import until

MAPS = "/api/v1/namespaces/default/configmaps"
TARGETS = {
    "start, with etcd": 1.0,
    "stop": 0.2,
    "stop, 1000 watches open": 0.3,
    "of a pool, made before": 0.05,
    "of a pool, its own memory, GB": 0.02,
    "of a pool, after 100 writes, GB": 0.03,
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


def forks(rounds: int) -> dict[str, list[float]]:
    """The seconds until a server of a pool is ready, forked on demand or prepared, and the memory of each."""
    found: dict[str, list[float]] = {
        "of a pool, made when asked": [],
        "of a pool, made before": [],
        "of a pool, its own memory, GB": [],
        "of a pool, after 100 writes, GB": [],
        "of a pool, stop": [],
    }
    with Pool(ahead=0) as pool:
        for _ in range(rounds):
            with pool.server() as server:
                found["of a pool, made when asked"].append(server.start_seconds)
                pool.order(1)
                (made,) = pool._made
                until(made.kubeconfig.exists)  # it is written when requests are answered
                with pool.server() as second:
                    found["of a pool, made before"].append(second.start_seconds)
                    found["of a pool, its own memory, GB"].append(private_megabytes(second.pid) / 1024)
                    for number in range(100):
                        ask(second, "POST", MAPS, {"metadata": {"name": f"a-{number}"}})
                    found["of a pool, after 100 writes, GB"].append(private_megabytes(second.pid) / 1024)
                    found["of a pool, stop"].append(timed(second.stop))
    return found


def watched_stops(rounds: int) -> dict[str, list[float]]:
    """The seconds of a server's stop while it has a thousand watches."""
    found = []
    for _ in range(max(rounds // 3, 1)):
        with api_server() as server, ExitStack() as watches:
            open_watches(server, 1000, watches)
            found.append(timed(server.stop))
    return {"stop, 1000 watches open": found}


def open_watches(server: ApiServer, number: int, stack: ExitStack) -> None:
    """Opens connections with one watch of ConfigMaps each; they are closed with the stack."""
    context = ssl.create_default_context(cafile=str(server.ca_file))
    request = f"GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {server.token}\r\n\r\n"
    opened = []
    for _ in range(number):
        plain = socket.create_connection(("127.0.0.1", server.port))
        opened.append(stack.enter_context(context.wrap_socket(plain, server_hostname="127.0.0.1")))
        opened[-1].sendall(request.encode())
    for each in opened:
        assert b" 200 " in each.recv(4096)


def states(rounds: int) -> dict[str, list[float]]:
    """The seconds of snapshots and of restores."""
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
    """Prints the medians and their targets, and returns the medians."""
    shown: list[dict[str, object]] = []
    print(f"{'seconds, median (least, most); load ' + format(os.getloadavg()[0], '.1f'):56s}{'target':>8s}", flush=True)
    for measure in (starts, forks, watched_stops, states):
        for case, seconds in measure(rounds).items():
            target = TARGETS.get(case)
            median = statistics.median(seconds)
            above = target is not None and median > target
            shown.append({"case": case, "seconds": median, "target": target, "above": above})
            mark = "   above" if above else ""
            numbers = f"{median:.3f} ({min(seconds):.3f}, {max(seconds):.3f})"
            print(f"{case:32s}{numbers:>24s}{target or '':>8}{mark}", flush=True)
    return shown


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    return 1 if any(each["above"] for each in report(parser.parse_args().rounds)) else 0


if __name__ == "__main__":
    sys.exit(main())
