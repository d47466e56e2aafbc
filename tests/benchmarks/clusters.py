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
GETS, CREATES = 6000, 1500  # of the root
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
    """The CPU time of a process in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def make(server: ApiServer, names: list[str]) -> float:
    """Makes control planes, and returns the seconds until all are ready."""

    def post(name: str) -> None:
        body = {"apiVersion": "apiserver-gateway.dev/v1alpha1", "kind": "ControlPlane", "metadata": {"name": name}}
        ask(server, "POST", PATH, {**body, "spec": {}})

    began = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(post, names))
    for name in names:
        wait_for(server, f"{PATH}/{name}", condition("Ready"), timeout=600)
    return time.monotonic() - began


def first_requests(places: list[Below]) -> list[float]:
    """Seconds of the first request of each."""
    found = []
    for place in places:
        began = time.monotonic()
        ask(place, "GET", "/api/v1/namespaces/default")
        found.append(time.monotonic() - began)
        place.connections.close()
    return found


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


def costs(server: ApiServer, turn: str) -> tuple[float, float]:
    """Milliseconds of the server's CPU time of a GET and of a CREATE of the root, without what it uses when idle."""
    maps, found = "/api/v1/namespaces/default/configmaps", []
    bodies = [{"metadata": {"name": f"{turn}-{number}"}} for number in range(CREATES)]
    for requests in ([("GET", "/api/v1/namespaces/default", None)] * GETS, [("POST", maps, each) for each in bodies]):
        at, began = cpu(server.pid), time.monotonic()
        time.sleep(SETTLED)
        idle = (cpu(server.pid) - at) / (time.monotonic() - began)
        at, began = cpu(server.pid), time.monotonic()
        for request in requests:
            ask(server, *request)
        found.append((cpu(server.pid) - at - idle * (time.monotonic() - began)) * 1000 / len(requests))
    return found[0], found[1]


def delete(server: ApiServer, names: list[str]) -> float:
    """Deletes control planes, and returns the seconds until all are gone."""
    began = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda name: ask(server, "DELETE", f"{PATH}/{name}"), names))
    until(lambda: len(ask(server, "GET", PATH)["items"]) == 1, 600)  # the first one stays
    return time.monotonic() - began


def measure(number: int) -> list[Row]:
    """Runs all measurements on one server."""
    with EmbeddedEtcd() as etcd, api_server("--control-planes", etcd_servers=etcd.endpoint) as server:
        wait_for(server, DEFINITION, condition("Established"))
        make(server, ["first"])  # also makes the objects that all others are copies of
        first_requests([Below(server, "first")])
        empty_start, alone = starts(server), costs(server, "alone")
        names = [f"bench-{n}" for n in range(number)]
        before = memory(server.pid)
        made = make(server, names)
        asleep = memory(server.pid)
        start = starts(server)
        before_waking = memory(server.pid)
        places = [Below(server, name) for name in names]
        woken = first_requests(places)
        time.sleep(SETTLED)
        awake, (count, size) = memory(server.pid), asyncio.run(keys(etcd.endpoint))
        at = cpu(server.pid)
        time.sleep(REST)
        idle = (cpu(server.pid) - at) / REST
        beside = costs(server, "beside")
        gone = delete(server, names)
        time.sleep(TRIMMED)
        after = memory(server.pid)
    each = number + 1
    return [
        Row(GROUP, "made per second", number / made, "", at_least=50),
        Row(GROUP, "memory of each, at rest", (asleep - before) / number, "MiB", "kcp", 7.4),
        Row(GROUP, "memory of each, awake with its controllers", (awake - before_waking) / number, "MiB", "kplane", 0.8,
            at_most=1.0),
        Row(GROUP, "keys of each in etcd, once its controllers ran", count / each, ""),
        Row(GROUP, "bytes of each in etcd, once its controllers ran", size / each, ""),
        Row(GROUP, "first request, one after the other, median", statistics.median(woken) * 1e3, "ms", at_most=10),
        Row(GROUP, "first request, one after the other, worst", max(woken) * 1e3, "ms"),
        Row(GROUP, "CPU of all, awake and idle", 100 * idle, "% of a core", at_most=2),
        Row(GROUP, "until all are deleted", gone, "s", at_most=30),
        Row(GROUP, "memory that stays with the process, of each deleted", (after - before_waking) / number, "MiB"),
        Row(GROUP, "start of the server", start, "s", "with one", empty_start, at_most=3),
        Row(GROUP, "CPU of a GET of the root", beside[0], "ms", "with one", alone[0], at_most=1.03, limits_ratio=True),
        Row(GROUP, "CPU of a CREATE of the root", beside[1], "ms", "with one", alone[1], at_most=1.03,
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
