"""Watch fan-out: 200 watches of 200 ConfigMaps that four connections make as fast as they are answered.

    python -m tests.benchmarks.fanout [--watches 200] [--writes 200] [--rounds 5] [--pace 15] [--beside URL,TOKEN,PID]
                                      [--keep]

All watches are open before the first write. The time ends with the last event at the last watch, and holds the writes:
so it is theirs more than that of the events. Client, server and etcd share the machine's cores; their CPU seconds in
that time say what bounds it. The same writes before a single watch say what the writes alone take; the rest is the
delivery. With `--pace` a single writer makes so many a second, so that each event is delivered by itself: as fast as
possible, a watch gets several in one write of its connection. The server is started here, on an etcd of its own;
another one, as a kube-apiserver, takes turns with it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
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


async def make(server: Server, path: str, writes: int, pace: float) -> None:
    """Creates the ConfigMaps: as fast as they are answered, or one after the other, `pace` a second."""
    requests = [("POST", path, _config_map(each)) for each in range(writes)]
    began, codes = time.monotonic(), list[int]()
    for number, some in enumerate([[each] for each in requests] if pace else [requests]):
        await asyncio.sleep(max(0.0, began + number / pace - time.monotonic()) if pace else 0)
        codes += await load.send(server.url, server.token, some, WRITERS)
    assert set(codes) == {201}, codes


async def fan_out(server: Server, watches: int, writes: int, pace: float = 0.0) -> Round:
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
        await make(server, path, writes, pace)
        written = time.monotonic() - began

    await load.fan_out(server.url, watched, server.token, watches, writes, _MARK, write)
    took = time.monotonic() - began
    spent, mine = sum(nanoseconds(server.pid)) / 1e9 - spent, time.process_time() - mine
    return Round(watches * writes / took, written, took, spent, mine)


@dataclass(frozen=True, slots=True)
class Found:
    """The medians of a server: with all watches, and with a single one."""

    all: Round
    single: Round
    events: int  # that the other watches got

    @property
    def of_an_event(self) -> float:
        """Microseconds of the server's CPU for the delivery of an event."""
        return (self.all.server - self.single.server) / self.events * 1e6


def middle(rounds: Sequence[Round]) -> Round:
    """The medians."""
    return Round(*(statistics.median(getattr(each, name) for each in rounds) for name in Round.__slots__))


def measure(servers: Sequence[Server], options: argparse.Namespace) -> list[Found]:
    """Measures the servers in turn; the first round warms up."""
    found: list[dict[int, list[Round]]] = [{options.watches: [], 1: []} for _ in servers]
    for number in range(options.rounds + 1):
        for index, server in enumerate(servers):
            for watches, rounds in found[index].items():
                try:
                    one = asyncio.run(fan_out(server, watches, options.writes, options.pace))
                except load.EndedEarly as error:
                    print(f"{server.name}: {error}")
                    continue
                if number:
                    rounds.append(one)
    events = (options.watches - 1) * options.writes
    medians = [Found(middle(each[options.watches]), middle(each[1]), events) for each in found]
    print(f"{'':16s}{'events/s':>10s}{'written':>10s}{'delivered':>10s}{'server CPU':>12s}{'client CPU':>12s}")
    for server, each in zip(servers, medians, strict=True):
        for name, one in ((server.name, each.all), ("  one watch", each.single)):
            times = f"{one.written:10.3f}{one.delivered:10.3f}{one.server:12.3f}{one.client:12.3f}"
            print(f"{name:16s}{one.rate:10.0f}{times}")
        print(f"  an event takes {each.of_an_event:.2f} µs of CPU of {server.name}")
    return medians


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--watches", type=int, default=200)
    parser.add_argument("--writes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pace", type=float, default=0.0, help="creates a second of one writer; 0: at full speed")
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
        paced = f", {options.pace:g}/s" if options.pace else ""
        case = f"{options.watches} watches of {options.writes} creates{paced}"
        name = "kube-apiserver" if other else ""

        def row(what: str, unit: str, number: Callable[[Found], float], **limits: float) -> Row:
            return Row(
                "Watch fan-out", f"{case}, {what}", number(ours), unit, name, number(other) if other else None,
                limits_ratio=True, **limits,
            )  # fmt: skip

        rows = [
            row("CPU of the writes alone", "s", lambda found: found.single.server),
            row("CPU of an event's delivery", "µs", lambda found: found.of_an_event, at_most=1 if paced else 0.3),
        ]
        if not paced:
            rows.insert(0, row("events", "1/s", lambda found: found.all.rate, at_least=1.5))
            rows.insert(1, row("CPU of the server", "s", lambda found: found.all.server, at_most=0.6))
        writers = "one writer" if paced else "four writers"
        said = f"{writers}, client on the same cores, medians of {options.rounds}, load {os.getloadavg()[0]:.1f}"
        keep(rows, f"`tests.benchmarks.fanout`, {said}")


if __name__ == "__main__":
    main()
