"""How long one request holds up the event loop, and with it everybody else.

    python -m tests.benchmarks.loop_lag [--objects 5000]

A server runs in this process beside a ticker that wants its turn every millisecond; the requests come from another
process. What counts is the loop's CPU time between two turns: other processes on the machine do not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storage.watch_cache import WatchCache
from tests.benchmarks.objects import NAMESPACE, pod
from tests.benchmarks.representations import ACCEPTS, PROTOBUF

LIMIT = 0.050  # seconds
TOKEN = "lag"

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = "application/json"

# name, path, Accept, Accept-Encoding, how many events to read of a watch; a name that begins with DELETE is of one
Case = tuple[str, str, str, str, int]

WARMING_UP: tuple[Case, ...] = (  # what a process imports once
    ("GET", "/api", EVENTS, "", 0),
    ("DELETE of nothing", f"{PODS}?labelSelector=app%3Dnone", EVENTS, "", 0),
)


def cases(objects: int, start: int) -> list[Case]:
    """The cases in this order: the first use of labels reads every object. `start` is from before the last change of
    each.
    """
    plain = [
        ("LIST by label, first use", f"{PODS}?labelSelector=app%3Da1&resourceVersion=0"),
        ("LIST by label, again", f"{PODS}?labelSelector=app%3Da1"),
        ("LIST by field", f"{PODS}?fieldSelector=spec.nodeName%3Dn1"),
        ("LIST rv=0", f"{PODS}?resourceVersion=0"),
        ("LIST consistent", PODS),
        ("LIST limit=500", f"{PODS}?limit=500"),
        ("LIST Exact, all changed since", f"{PODS}?resourceVersion={start}&resourceVersionMatch=Exact"),
        ("LIST Exact by label, all changed since", f"{PODS}?resourceVersion={start}&limit=9999&labelSelector=app%3Da1"),
        ("LIST pretty", f"{PODS}?resourceVersion=0&pretty=true"),
    ]
    found: list[Case] = [(name, path, EVENTS, "", 0) for name, path in plain]
    for name, accept in ACCEPTS.items():
        found += [
            (f"LIST as {name}, {turn}", f"{PODS}?resourceVersion=0", accept, "", 0) for turn in ("first", "again")
        ]
    found += [
        ("WATCH from 0 in protobuf", f"{PODS}?watch=1&resourceVersion=0&timeoutSeconds=2", PROTOBUF, "", 0),
        ("LIST gzip", f"{PODS}?resourceVersion=0", EVENTS, "gzip", 0),
        ("LIST as YAML", f"{PODS}?resourceVersion=0&limit=500", "application/yaml", "", 0),
        ("WATCH from 0", f"{PODS}?watch=1&resourceVersion=0", EVENTS, "", objects),
        (
            "WATCH from 0 by label",
            f"{PODS}?watch=1&resourceVersion=0&labelSelector=app%3Da1",
            EVENTS,
            "",
            objects // 10,
        ),
        ("WATCH, all changed since", f"{PODS}?watch=1&resourceVersion={start}", EVENTS, "", objects),
        (
            "WATCH by label, all changed since",
            f"{PODS}?watch=1&resourceVersion={start}&labelSelector=app%3Da1",
            EVENTS,
            "",
            objects // 10,
        ),
        ("DELETE of the collection", f"{PODS}?gracePeriodSeconds=0", EVENTS, "", 0),
    ]
    return found


CLIENT = """
import http.client, json, ssl, sys
context = ssl._create_unverified_context()
for line in sys.stdin:
    port, method, path, headers, events = json.loads(line)
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    if answer.status == 200 and events:
        for _ in range(events):
            answer.readline()
    else:
        answer.read()
    connection.close()
    print(answer.status, flush=True)
"""


@dataclass(slots=True)
class Lag:
    """The longest time, in seconds, that the loop was busy at a stretch during one request."""

    name: str
    status: int
    cpu: float = 0.0
    wall: float = 0.0


class Ticker:
    """Schedules itself every millisecond and records by how much it was late."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0

    async def run(self) -> None:
        while True:
            cpu, wall = time.thread_time(), time.monotonic()
            await asyncio.sleep(0.001)
            self.cpu = max(self.cpu, time.thread_time() - cpu)
            self.wall = max(self.wall, time.monotonic() - wall)


@asynccontextmanager
async def served(etcd: str, directory: Path) -> AsyncIterator[tuple[int, WatchCache]]:
    """A server in this process. Yields its port and cache."""
    from gateway.credentials.certificates import ensure_certificates, server_context
    from gateway.launch.process import ServerProcess, configuration
    from gateway.launch.wiring import app_of
    from gateway.settings.config import Settings

    tokens = directory / "tokens.csv"
    tokens.write_text(f"{TOKEN},admin,1,system:masters\n")
    settings = Settings(
        bind_address="127.0.0.1", secure_port=0, etcd_servers=(etcd,), token_auth_file=tokens,
        disable_admission_plugins=frozenset({"ServiceAccount"}),
    )  # fmt: skip
    made = ensure_certificates(directory / "certificates", ["127.0.0.1"])
    app, listener, ready = app_of(settings), socket.create_server(("127.0.0.1", 0)), asyncio.Event()
    server = ServerProcess(app, configuration(app, server_context(made.certificate, made.key)), ready.set)
    task = asyncio.create_task(server.serve([listener]))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    try:
        yield listener.getsockname()[1], app.gateway.store.cache
    finally:
        app.stop()
        server.should_exit = True
        await task


async def fill(etcd: str, objects: int) -> tuple[int, int]:
    """Writes every pod twice; the revisions after each turn."""
    from storage.etcd import EtcdClient, EtcdSettings

    revisions: list[int] = []
    async with EtcdClient(EtcdSettings((etcd,))) as client:

        async def write(index: int, turn: str) -> None:
            obj: dict[str, Any] = pod(f"pod-{index:06d}", index)
            obj["metadata"] |= {"namespace": NAMESPACE, "uid": f"u-{index}", "resourceVersion": "1"}
            obj["metadata"]["annotations"]["turn"] = turn
            await client.put(f"/registry/pods/{NAMESPACE}/pod-{index:06d}".encode(), json.dumps(obj).encode())

        for turn in ("one", "two"):
            for start in range(0, objects, 64):
                await asyncio.gather(*(write(index, turn) for index in range(start, min(start + 64, objects))))
            revisions.append(await client.revision())
    return revisions[0], revisions[1]


async def measure(objects: int) -> list[Lag]:
    """Runs all cases, one after the other."""
    from storage.embedded import EmbeddedEtcd

    found = []
    async with EmbeddedEtcd() as etcd:
        with tempfile.TemporaryDirectory() as directory:
            async with served(etcd.endpoint, Path(directory)) as (port, cache):
                start, end = await fill(etcd.endpoint, objects)
                await cache.reach(end)
                client = await asyncio.create_subprocess_exec(
                    sys.executable, "-c", CLIENT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
                )
                assert client.stdin is not None and client.stdout is not None
                for name, path, accept, encoding, events in [*WARMING_UP, *cases(objects, start)]:
                    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": accept, "Accept-Encoding": encoding}
                    ticker = Ticker()
                    ticking = asyncio.create_task(ticker.run())
                    method = "DELETE" if name.startswith("DELETE") else "GET"
                    client.stdin.write(json.dumps([port, method, path, headers, events]).encode() + b"\n")
                    status = int(await client.stdout.readline())
                    ticking.cancel()
                    found.append(Lag(name, status, ticker.cpu, ticker.wall))
                client.stdin.close()
                await client.wait()
    return found[len(WARMING_UP) :]


def main() -> int:
    import uvloop

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=5000)
    lags = uvloop.run(measure(parser.parse_args().objects))
    print(f"{'the loop is busy at a stretch, milliseconds':48s}{'CPU':>8s}{'wall':>8s}")
    for lag in lags:
        mark = "" if lag.cpu <= LIMIT else "   above 50"
        mark += "" if lag.status == 200 else f"   status {lag.status}"
        print(f"{lag.name:48s}{lag.cpu * 1000:8.1f}{lag.wall * 1000:8.1f}{mark}")
    return int(any(lag.cpu > LIMIT for lag in lags))


if __name__ == "__main__":
    sys.exit(main())
