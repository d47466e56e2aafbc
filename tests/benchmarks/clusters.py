"""What control planes below /clusters take: time to make, wake and delete them, memory, keys, and CPU time at rest.

python -m tests.benchmarks.clusters [--number 1000] [--keep]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from apiserver_gateway.testing import ApiServer, api_server, ask, condition, wait_for
from apiserver_gateway.testing.clusters import PATH
from apiserver_gateway.testing.connections import Connections
from gateway.memory import EVERY
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.benchmarks.kept import Row, keep
from tests.until import until

DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/controlplanes.apiserver-gateway.dev"
GROUP = "Control planes below /clusters"
ROOT = b"/registry-clusters/"
THREADS = 8
GETS, CREATES, TURNS = 6000, 1600, 8  # of the root, in so many slices
MAPS = "/api/v1/namespaces/default/configmaps"
SETTLED = 3.0  # seconds after which the server is idle
REST = 10.0  # seconds in which idle CPU time is measured
TRIMMED = EVERY + 5.0  # seconds after which the server has given free memory back to the kernel


class Below:
    """A control plane as a server for requests."""

    def __init__(self, server: ApiServer, name: str) -> None:
        secret = ask(server, "GET", f"/api/v1/namespaces/kube-system/secrets/control-plane-{name}")["data"]
        self.url, self.ca_file, self.token = server.url, server.ca_file, b64decode(secret["token"]).decode()
        self.connections = Connections(f"/clusters/{name}")


def memory(pid: int) -> float:
    """The private memory of a process in MiB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def cpu(pid: int) -> float:
    """The CPU time of a process in seconds, of the threads that it has."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9


def make(server: ApiServer, names: list[str]) -> tuple[float, float]:
    """Makes control planes, and returns the seconds until all are ready, and the server's seconds of CPU time."""

    def post(name: str) -> None:
        body = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": name}}
        ask(server, "POST", PATH, {**body, "spec": {}})

    began, at = time.monotonic(), cpu(server.pid)
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(post, names))
    for name in names:
        wait_for(server, f"{PATH}/{name}", condition("Ready"), timeout=600)
    return time.monotonic() - began, cpu(server.pid) - at


def first_requests(places: list[Below]) -> list[float]:
    """Seconds of the first request of each, on one connection."""
    found: list[float] = []
    idle = places[0].connections._idle
    for place in places:
        place.connections._idle = idle
        began = time.monotonic()
        ask(place, "GET", "/api/v1/namespaces/default")
        found.append(time.monotonic() - began)
    return found


def first_writes(places: list[Below]) -> None:
    """Writes an object in each, so that its controllers run."""
    for place in places:
        place.connections._idle = places[0].connections._idle
        ask(place, "POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "first"}})


async def keys(endpoint: str) -> tuple[int, int]:
    """The keys and bytes below the common prefix."""
    async with EtcdClient(EtcdSettings(endpoints=(endpoint,))) as client:
        found = await client.prefix(ROOT)
        return found.count, sum(len(kv.key) + len(kv.value) for kv in found.kvs)


def starts(server: ApiServer) -> float:
    """Stops and starts the server; returns the seconds until it knows all control planes."""
    server.stop()
    began = time.monotonic()
    server.start()
    until(lambda: ask(server, "GET", PATH))
    return time.monotonic() - began


def costs(one: ApiServer, many: ApiServer) -> list[tuple[float, float]]:
    """Milliseconds of CPU time of a GET and of a CREATE of the root, of each server, without what it uses when idle:
    the medians of slices in turn.
    """
    servers, found = (one, many), []
    idle = []
    for server in servers:
        at, began = cpu(server.pid), time.monotonic()
        time.sleep(SETTLED)
        idle.append((cpu(server.pid) - at) / (time.monotonic() - began))
    for kind, number in (("GET", GETS), ("CREATE", CREATES)):
        slices: tuple[list[float], list[float]] = [], []
        for turn in range(2 * TURNS):
            place = (turn + turn // 2) % 2  # one, many, many, one: neither is always the second
            server, size = servers[place], number // TURNS
            at, began = cpu(server.pid), time.monotonic()
            for each in range(size):
                if kind == "GET":
                    ask(server, "GET", "/api/v1/namespaces/default")
                else:
                    ask(server, "POST", MAPS, {"metadata": {"name": f"turn-{turn}-{each}"}})
            used = cpu(server.pid) - at - idle[place] * (time.monotonic() - began)
            slices[place].append(used * 1000 / size)
        found.append((statistics.median(slices[0]), statistics.median(slices[1])))
    return found


def delete(server: ApiServer, names: list[str]) -> float:
    """Deletes control planes, and returns the seconds until all are gone."""
    began = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda name: ask(server, "DELETE", f"{PATH}/{name}"), names))
    until(lambda: len(ask(server, "GET", PATH)["items"]) == 1, 600)  # the first one stays
    return time.monotonic() - began


def measure(number: int) -> list[Row]:
    """Runs all measurements on one server, beside another one that has one control plane."""
    with (
        EmbeddedEtcd() as etcd,
        api_server("--control-planes", etcd_servers=etcd.endpoint) as server,
        api_server("--control-planes") as alone,
    ):
        for each in (server, alone):
            wait_for(each, DEFINITION, condition("Established"))
            make(each, ["first"])  # also makes the objects that all others are copies of
            first_requests([Below(each, "first")])
        empty_start = starts(server)
        names = [f"bench-{n}" for n in range(number)]
        before = memory(server.pid)
        made, made_cpu = make(server, names)
        asleep = memory(server.pid)
        start = starts(server)
        first_requests([Below(server, "first")])
        time.sleep(SETTLED)  # then its controllers have looked at what all others begin with
        before_waking = memory(server.pid)
        places = [Below(server, name) for name in names]
        at = cpu(server.pid)
        woken = first_requests(places)
        time.sleep(SETTLED)
        woken_cpu = cpu(server.pid) - at
        awake, (count, size) = memory(server.pid), asyncio.run(keys(etcd.endpoint))
        at = cpu(server.pid)
        time.sleep(REST)
        idle = (cpu(server.pid) - at) / REST
        get, create = costs(alone, server)
        used = places[: max(1, number // 10)]
        before_writes = memory(server.pid)
        first_writes(used)
        time.sleep(SETTLED)
        written = memory(server.pid)
        gone = delete(server, names)
        time.sleep(TRIMMED)
        after = memory(server.pid)
    each_one = number + 1
    return [
        Row(GROUP, "made per second", number / made, "", at_least=50),
        Row(GROUP, "CPU of making one", made_cpu * 1e3 / number, "ms"),
        Row(GROUP, "memory of each, at rest", (asleep - before) / number, "MiB", "kcp", 7.4),
        Row(GROUP, "memory of each, awake", (awake - before_waking) / number, "MiB", "kplane", 0.8, at_most=1.0),
        Row(GROUP, "memory of each beside, once somebody has written in it", (written - before_writes) / len(used),
            "MiB"),
        Row(GROUP, "keys of each in etcd", count / each_one, ""),
        Row(GROUP, "bytes of each in etcd", size / each_one, ""),
        Row(GROUP, "first request, one after the other, median", statistics.median(woken) * 1e3, "ms", at_most=10),
        Row(GROUP, "first request, one after the other, worst", max(woken) * 1e3, "ms"),
        Row(GROUP, "CPU of a first request, and of the work after it", woken_cpu * 1e3 / number, "ms"),
        Row(GROUP, "CPU of all, awake and idle", 100 * idle, "% of a core", at_most=2),
        Row(GROUP, "until all are deleted", gone, "s", at_most=30),
        Row(GROUP, "memory that stays with the process, of each deleted", (after - before_waking) / number, "MiB"),
        Row(GROUP, "start of the server", start, "s", "with one", empty_start, at_most=3),
        Row(GROUP, "CPU of a GET of the root", get[1], "ms", "with one", get[0], at_most=1.03, limits_ratio=True),
        Row(GROUP, "CPU of a CREATE of the root", create[1], "ms", "with one", create[0], at_most=1.03,
            limits_ratio=True),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--keep", action="store_true", help="store the rows for the page of measurements")
    options = parser.parse_args()
    busy = os.getloadavg()[0]
    rows = measure(options.number)
    for row in rows:
        beside = "" if row.beside is None else f" ({row.other}: {row.beside:.3g})"
        print(f"{row.case}: {row.ours:.3g} {row.unit}{beside}{'' if row.holds else ': not kept'}")
    if options.keep:
        keep(
            rows,
            f"python -m tests.benchmarks.clusters --number {options.number}, empty; kcp's and kplane's are published "
            f"figures (a workspace, a control plane); a forked server takes 22 to 30 MB and 0.2 s; load {busy:.1f}",
        )


if __name__ == "__main__":
    main()
