"""Watch fan-out: 200 watches of 200 ConfigMaps that four connections make as fast as they are answered.

    python -m tests.benchmarks.fanout [--watches 200] [--writes 200] [--rounds 5] [--beside URL,TOKEN,PID] [--keep]

All watches are open before the first write. The time ends with the last event at the last watch, and holds the writes:
so it is theirs more than that of the events. Client, server and etcd share the machine's cores; their CPU seconds in
that time say what bounds it. The server is started here, on an etcd of its own; another one, as a kube-apiserver, takes
turns with it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.benchmarks import load
from tests.benchmarks.kept import Row, keep
from tests.benchmarks.stages import nanoseconds

WRITERS = 4
_MARK = b'"type":"ADDED"'
_SETTLED = 1.0  # seconds after which all watches are served


@dataclass(frozen=True, slots=True)
class Server:
    """The server to measure."""

    name: str
    url: str
    token: str
    pid: int


@dataclass(frozen=True, slots=True)
class Round:
    """A round: events a second, seconds until all writes were answered and until all events had come, and CPU
    seconds of server and client meanwhile.
    """

    rate: float
    written: float
    delivered: float
    server: float
    client: float


def _config_map(number: int) -> bytes:
    metadata = {"name": f"c{number}", "labels": {"bench": "1"}}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "x" * 500}}
    return json.dumps(body).encode()


async def fan_out(server: Server, watches: int, writes: int) -> Round:
    """One round, in a new namespace."""
    namespace = f"fan-out-{random.randrange(10**9)}"
    made = json.dumps({"metadata": {"name": namespace}}).encode()
    await load.send(server.url, server.token, [("POST", "/api/v1/namespaces", made)], 1)
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    watched = f"{path}?watch=1&resourceVersion=0&timeoutSeconds=120&labelSelector=bench%3D1"
    began = written = spent = mine = 0.0

    async def write() -> None:
        nonlocal began, written, spent, mine
        await asyncio.sleep(_SETTLED)
        spent, mine, began = sum(nanoseconds(server.pid)) / 1e9, time.process_time(), time.monotonic()
        codes = await load.send(
            server.url, server.token, [("POST", path, _config_map(each)) for each in range(writes)], WRITERS
        )
        assert set(codes) == {201}, codes
        written = time.monotonic() - began

    await load.fan_out(server.url, watched, server.token, watches, writes, _MARK, write)
    took = time.monotonic() - began
    spent, mine = sum(nanoseconds(server.pid)) / 1e9 - spent, time.process_time() - mine
    return Round(watches * writes / took, written, took, spent, mine)


def middle(rounds: Sequence[Round]) -> Round:
    """The medians."""
    return Round(*(statistics.median(getattr(each, name) for each in rounds) for name in Round.__slots__))


def measure(servers: Sequence[Server], options: argparse.Namespace) -> list[Round]:
    """Measures the servers in turn; the first round warms up."""
    found: list[list[Round]] = [[] for _ in servers]
    for number in range(options.rounds + 1):
        for index, server in enumerate(servers):
            one = asyncio.run(fan_out(server, options.watches, options.writes))
            if number:
                found[index].append(one)
    medians = [middle(rounds) for rounds in found]
    print(f"{'':16s}{'events/s':>10s}{'written':>10s}{'delivered':>10s}{'server CPU':>12s}{'client CPU':>12s}")
    for server, one in zip(servers, medians, strict=True):
        times = f"{one.written:10.3f}{one.delivered:10.3f}{one.server:12.3f}{one.client:12.3f}"
        print(f"{server.name:16s}{one.rate:10.0f}{times}")
    return medians


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--watches", type=int, default=200)
    parser.add_argument("--writes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beside", metavar="URL,TOKEN,PID", help="another server, as a kube-apiserver")
    parser.add_argument("--keep", action="store_true", help="keep the rows for docs/performance/measurements.md")
    options = parser.parse_args()
    from apiserver_gateway.testing import api_server

    with api_server("--disable-admission-plugins=ServiceAccount") as api:
        servers = [Server("gateway", api.url, api.token, api.pid)]
        if options.beside:
            url, token, pid = options.beside.split(",")
            servers.append(Server("beside", url, token, int(pid)))
        medians = measure(servers, options)
    if options.keep:
        ours, other = medians[0], medians[1] if options.beside else None
        case = f"{options.watches} watches of {options.writes} creates"
        name = "kube-apiserver" if other else ""
        rate = Row(
            "Watch fan-out",
            f"{case}, events",
            ours.rate,
            "1/s",
            name,
            other.rate if other else None,
            at_least=1.5,
            limits_ratio=True,
        )
        cpu = Row(
            "Watch fan-out", f"{case}, CPU of the server", ours.server, "s", name, other.server if other else None,
            at_most=0.6, limits_ratio=True,
        )  # fmt: skip
        said = f"four writers, client on the same cores, medians of {options.rounds}, load {os.getloadavg()[0]:.1f}"
        keep([rate, cpu], f"`tests.benchmarks.fanout`, {said}")


if __name__ == "__main__":
    main()
