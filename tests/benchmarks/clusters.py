"""What control planes below /clusters take: time to make, wake and delete them, memory, keys, and CPU time at rest.

python -m tests.benchmarks.clusters [--number 100]
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

from apiserver_gateway.testing import ApiServer, Refused, api_server, ask, condition, wait_for
from apiserver_gateway.testing.clusters import PATH
from apiserver_gateway.testing.connections import Connections
from gateway.memory import EVERY
from storage.etcd import EtcdClient, EtcdSettings
from tests.until import until

DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/controlplanes.apiserver-gateway.dev"
ROOT = b"/registry-clusters/"
THREADS = 8
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


def delete(server: ApiServer, names: list[str]) -> float:
    """Deletes control planes, and returns the seconds until all are gone."""
    began = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda name: ask(server, "DELETE", f"{PATH}/{name}"), names))
    until(lambda: len(ask(server, "GET", PATH)["items"]) == 1)  # the first one stays
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=100)
    number = parser.parse_args().number
    with api_server("--control-planes") as server:
        wait_for(server, DEFINITION, condition("Established"))
        make(server, ["first"])  # also makes the objects that all others are copies of
        first_requests([Below(server, "first")])
        names = [f"bench-{n}" for n in range(number)]
        before = memory(server.pid)
        made = make(server, names)
        asleep = memory(server.pid)
        count, size = asyncio.run(keys(server.etcd_endpoint))
        places = [Below(server, name) for name in names]
        woken = first_requests(places)
        time.sleep(3)
        awake, at = memory(server.pid), cpu(server.pid)
        again = first_requests(places)
        count_awake, size_awake = asyncio.run(keys(server.etcd_endpoint))
        time.sleep(3)
        at = cpu(server.pid)
        time.sleep(REST)
        idle = (cpu(server.pid) - at) / REST
        gone = delete(server, names)
        time.sleep(TRIMMED)
        after = memory(server.pid)
        try:
            ask(places[0], "GET", "/api")
        except Refused as refused:
            assert refused.status == 404
    print(f"control planes: {number}")
    print(f"made per second: {number / made:.1f}")
    print(f"MiB each, at rest: {(asleep - before) / number:.3f}")
    print(f"MiB each, awake, with controllers: {(awake - before) / number:.3f}")
    print(f"keys and kB of each when made: {count / (number + 1):.0f}, {size / (number + 1) / 1000:.1f}")
    print(f"keys and kB of each once its controllers ran: {count_awake / (number + 1):.0f}, "
          f"{size_awake / (number + 1) / 1000:.1f}")  # fmt: skip
    print(f"ms of the first request, median and worst: {statistics.median(woken) * 1e3:.1f}, {max(woken) * 1e3:.1f}")
    print(f"ms of a later request on a new connection, median: {statistics.median(again) * 1e3:.1f}")
    print(f"CPU of all, awake and idle: {100 * idle:.2f} % of a core")
    print(f"seconds until all are deleted: {gone:.1f}")
    print(f"MiB more than before they were made: {after - before:.1f}")


if __name__ == "__main__":
    main()
