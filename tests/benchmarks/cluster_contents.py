"""What control planes with custom resources and many objects take: memory of each, and the time until one is awake.

python -m tests.benchmarks.cluster_contents [--number 20] [--keep]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from apiserver_gateway.testing import ApiServer, Cluster, api_server, ask, condition, install, wait_for
from apiserver_gateway.testing.clusters import PATH
from gateway.clusters.definition import ANNOUNCEMENTS
from gateway.memory import EVERY
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.benchmarks.clusters import MAPS, ROOT, THREADS, cpu, memory
from tests.benchmarks.custom import DEFINITIONS, definition
from tests.benchmarks.kept import Row, keep
from tests.until import until

GROUP = "Control planes with custom resources and objects"
KINDS, OBJECTS = 50, 500  # of each control plane
LOADS, TIMES = (10, 1_000, 10_000), 3
TRIMMED = EVERY + 5.0  # seconds after which the server has given free memory back to the kernel


def definitions(word: str) -> list[dict[str, Any]]:
    """Definitions of kinds whose schemas have the word in a description, so that other words make other schemas."""
    found = []
    for number in range(KINDS):
        made = definition(f"g{number}.example.com")
        schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        schema["description"] = f"a gadget of {word}, {number}"
        found.append(made)
    return found


def fill(place: Cluster, number: int, prefix: str) -> None:
    """Makes so many small objects."""

    def post(each: int) -> None:
        ask(place, "POST", MAPS, {"metadata": {"name": f"{prefix}-{each}"}, "data": {"key": f"value-{each}"}})

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(post, range(number)))


def settled(server: ApiServer) -> float:
    """The private memory of the server in MiB, after the server has returned free memory."""
    time.sleep(TRIMMED)
    return memory(server.pid)


def furnished(number: int, word_of: Callable[[int], str]) -> tuple[float, float]:
    """MiB of each control plane with its definitions, and with its objects, too. `word_of` says which schemas each one
    has; what all share is made before.
    """
    with api_server("--control-planes") as server, server.cluster() as first:
        install(first, *definitions(word_of(0)))
        with server.clusters(number) as planes:
            before = settled(server)
            for place, each in enumerate(planes, 1):
                install(each, *definitions(word_of(place)))
            defined = settled(server)
            for each in planes:
                fill(each, OBJECTS, "object")
            filled = settled(server)
    return (defined - before) / number, (filled - before) / number


async def settle_work(endpoint: str) -> None:
    """Removes the announcements of unfinished work, for which the next leader wakes control planes."""
    async with EtcdClient(EtcdSettings(endpoints=(endpoint,))) as etcd:
        found = await etcd.prefix(ROOT + ANNOUNCEMENTS, keys_only=True)
        await etcd.write([], [kv.key for kv in found.kvs])


def woken(number: int) -> tuple[float, float]:
    """Milliseconds of the first request of a control plane with so many objects, and of the server's CPU time: the
    medians of several starts of the server.
    """
    with EmbeddedEtcd() as etcd, api_server("--control-planes", etcd_servers=etcd.endpoint) as server:
        wait_for(server, f"{DEFINITIONS}/controlplanes.apiserver-gateway.dev", condition("Established"))
        with server.cluster() as place, server.cluster() as beside:
            fill(place, number, "object")
            times: list[tuple[float, float]] = []
            for _ in range(TIMES):
                server.stop()
                asyncio.run(settle_work(etcd.endpoint))
                server.start()
                until(lambda: ask(server, "GET", PATH))
                ask(beside, "GET", "/api/v1/namespaces/default")  # also makes what all share
                at, began = cpu(server.pid), time.monotonic()
                ask(place, "GET", "/api/v1/namespaces/default")
                times.append((time.monotonic() - began, cpu(server.pid) - at))
    return (statistics.median(each[0] for each in times) * 1e3, statistics.median(each[1] for each in times) * 1e3)


def measure(number: int, loads: Sequence[int] = LOADS) -> Iterator[Row]:
    """Runs all measurements, each on a server of its own. The first ones are the shortest."""
    for objects in loads:
        took, used = woken(objects)
        yield Row(GROUP, f"first request with {objects:,} objects", took, "ms")
        yield Row(GROUP, f"CPU of the first request with {objects:,} objects", used, "ms")
    for case, word_of in ((f"{KINDS} equal CRDs", lambda place: "all"), (f"{KINDS} CRDs of its own", str)):
        defined, filled = furnished(number, word_of)
        yield Row(GROUP, f"memory of each with {case}", defined, "MiB", at_most=1.5)
        yield Row(GROUP, f"memory of each with {case} and {OBJECTS} objects", filled, "MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--keep", action="store_true", help="store the rows for the page of measurements")
    options = parser.parse_args()
    busy = os.getloadavg()[0]
    rows = []
    for row in measure(options.number):
        rows.append(row)
        print(f"{row.case}: {row.ours:.3g} {row.unit}{'' if row.holds else ': not kept'}", flush=True)
    if options.keep:
        command = f"python -m tests.benchmarks.cluster_contents --number {options.number}"
        keep(rows, f"{command}; objects are ConfigMaps of 0.3 KB; a schema has 30 properties; load {busy:.1f}")


if __name__ == "__main__":
    main()
