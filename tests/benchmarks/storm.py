"""Reconnect storms: thousands of watchers that all come back within a second after their server was started again.

    python -m tests.benchmarks.storm [--watchers 10000] [--within 1] [--account] [--others 0] [--beside PROGRAM]
                                       [--keep]

The server is ended by SIGTERM and by SIGKILL, and is started again; once it is ready, the watchers of `crowd.py`
connect at moments of one second and go on from the version that they had seen. One that is refused or cut off comes
back as client-go has it come back: after a time that doubles, or when Retry-After says. Another process reads one
object 50 times a second meanwhile. Servers are started here, on an etcd of their own, the gateway first, then PROGRAM,
a kube-apiserver. With `--account` the watchers and the reader are a service account, which is not exempt from
priority and fairness. `--others` are so many ConfigMaps beside what is watched: above 50 000 objects the gateway
starts in parts, and has no history in memory of before its start.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import million
from tests.benchmarks.account import account
from tests.benchmarks.crowd import PODS, Server, Watched, fill, percentile
from tests.benchmarks.crowd_client import Connection, Loop
from tests.benchmarks.informers import measured_servers, raise_descriptors, spent, watches_of
from tests.benchmarks.kept import Row, keep
from tests.benchmarks.peer import Measured

FIRST_PAUSE, LAST_PAUSE = (
    0.8,
    30.0,
)  # seconds of client-go's reflectors, which double it each time and add up to as much
HANDSHAKE = 10.0  # seconds after which Go gives up
PATIENCE = 240.0  # seconds until all must be served
OTHER = 300  # bytes of an object that nobody watches
AT_ONCE = 32  # connections that are begun between two looks at what has come
HOW = ("SIGTERM", "SIGKILL")


@dataclass(slots=True)
class Watcher:
    """A client that opens a watch."""

    path: str
    pause: float = FIRST_PAUSE
    connection: Connection | None = None
    served: float = 0.0  # when it was answered 200


class Storm:
    """Watchers that connect until each of them is served. A connection has the number of its watcher."""

    def __init__(self, loop: Loop, paths: list[str]) -> None:
        self.outcomes = Counter[str]()
        self._loop, self._watchers = loop, [Watcher(path) for path in paths]
        self._due: list[tuple[float, int]] = []  # when which of them connects
        self._left = len(paths)
        loop.lost = self._lost

    def run(self, within: float) -> list[float]:
        """Has them begin `within` so many seconds; after how many each was served. Raises TimeoutError."""
        began = looked = time.monotonic()
        self._due = sorted((began + random.random() * within, number) for number in range(self._left))
        while self._left:
            now = time.monotonic()
            for _ in range(AT_ONCE):
                if not self._due or self._due[0][0] > now:
                    break
                self._connect(heapq.heappop(self._due)[1])
            self._loop.turn(0.01)
            if now > looked + 0.25:
                looked = now
                self._give_up(now - HANDSHAKE)
            if now > began + PATIENCE:
                raise TimeoutError(f"{self._left} of {len(self._watchers)} not served: {dict(self.outcomes)}")
        return [each.served - began for each in self._watchers]

    def _connect(self, number: int) -> None:
        watcher = self._watchers[number]
        watcher.connection = self._loop.connect(self._answered)
        watcher.connection.number = number
        watcher.connection.request("GET", watcher.path)

    def _give_up(self, before: float) -> None:
        """Ends connections whose handshake began before then and is not done."""
        for number, each in enumerate(self._watchers):
            if each.connection is not None and not each.connection.ready and 0 < each.connection.hello < before:
                self._loop.drop(each.connection)
                self._again(number, "handshake timed out")

    def _lost(self, connection: Connection) -> None:
        if connection.received == self._answered:  # else it was served
            self._again(connection.number, "cut off" if connection.ready else "refused or cut off before TLS")

    def _again(self, number: int, why: str, after: float = 0.0) -> None:
        watcher = self._watchers[number]
        self.outcomes[why] += 1
        pause = after or watcher.pause * (1 + random.random())
        watcher.connection, watcher.pause = None, min(2 * watcher.pause, LAST_PAUSE)
        heapq.heappush(self._due, (time.monotonic() + pause, number))

    def _answered(self, connection: Connection, data: bytes) -> None:
        connection.buffer += data
        head, whole, _ = connection.buffer.partition(b"\r\n\r\n")
        if not whole:
            return
        status, after = head[9:12].decode(), re.search(rb"(?i)\r\nretry-after: *(\d+)", head)
        connection.buffer = b""
        if status == "200":
            self.outcomes[status] += 1
            watcher = self._watchers[connection.number]
            watcher.served, watcher.connection = time.monotonic(), None
            connection.received, self._left = _pass_over, self._left - 1
            return
        connection.received = _pass_over
        self._loop.drop(connection)
        self._again(connection.number, f"{status}, Retry-After" if after else status, float(after[1]) if after else 0)


def _pass_over(connection: Connection, data: bytes) -> None:
    """The bytes after the head of an answer."""


class Reader:
    """Another process that reads one object all the time, from now on until it is asked what it had to wait for."""

    def __init__(self, server: Measured, token: str) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.storm_reads", server.url, token, f"{PODS}/pod-7"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def waited(self) -> list[float]:
        """In seconds; ends it."""
        found: list[float] = json.loads(self._process.communicate()[0])
        return found


def revision(loop: Loop) -> int:
    """The version that watchers have seen."""
    found = list[int]()

    def received(connection: Connection, data: bytes) -> None:
        connection.buffer += data
        found.extend(int(each) for each in re.findall(rb'"resourceVersion":"(\d+)"', connection.buffer)[:1])

    connection = loop.connect(received)
    connection.request("GET", f"{PODS}?limit=1")
    while not found:
        loop.turn(1.0)
    loop.drop(connection)
    return found[0]


def storm(name: str, how: str, server: Measured, etcd: str, options: argparse.Namespace) -> dict[str, float]:
    """One storm, after the server was ended in this way; prints what it took."""
    token = account(server) if options.account else server.token
    loop = Loop(Server(server.url, "").address, token)
    from_here = f"resourceVersion={revision(loop)}"
    every = Watched(options.watchers, tenants=False)
    paths = [every.watch(n).replace("resourceVersion=0", from_here) for n in range(options.watchers)]
    (server.stop if how == "SIGTERM" else server.kill)()
    before = watches_of(etcd)
    server.start()
    reader, crowd, begun, mine = Reader(server, token), Storm(loop, paths), spent(server.pid), time.process_time()
    served = crowd.run(options.within)
    mine, after, waited = time.process_time() - mine, spent(server.pid), reader.waited()
    found = {
        "all served after": max(served),
        "served after, p99": percentile(served, 0.99) / 1000,
        "GET meanwhile, p99": percentile(waited, 0.99),
        "CPU of the server": after.cpu - begun.cpu,
        "memory, peak": float(after.peak),
    }
    print(
        f"{name}, {how}: {len(served)} watchers served after p50 {percentile(served, 0.5) / 1000:.1f},"
        f" p99 {found['served after, p99']:.1f}, all {max(served):.1f} s; {dict(crowd.outcomes)}\n"
        f"  {len(waited)} GETs meanwhile: p50 {percentile(waited, 0.5):.0f}, p99 {found['GET meanwhile, p99']:.0f},"
        f" max {percentile(waited, 1.0):.0f} ms\n"
        f"  CPU of the server {found['CPU of the server']:.1f} s, of the watchers {mine:.1f} s; memory"
        f" {after.resident} MB (PSS {after.own}, peak {after.peak}); {watches_of(etcd) - before} watch streams of etcd",
        flush=True,
    )
    loop.close()
    return found


UNITS = {"GET meanwhile, p99": "ms", "memory, peak": "MB"}  # of what is kept; else seconds
MOST = 1.0  # of a kube-apiserver's


def rows(found: list[dict[str, dict[str, float]]], options: argparse.Namespace) -> Iterator[Row]:
    """The rows for docs/performance/measurements.md, with those of a kube-apiserver if it was measured, too."""
    group, theirs = f"{options.watchers:,} watchers come back in {options.within:g} s", found[1] if found[1:] else {}
    group += ", as a service account" if options.account else ""
    group += f", beside {options.others:,} other objects" if options.others else ""
    for how, cases in found[0].items():
        for case, ours in cases.items():
            other, beside = ("kube-apiserver", theirs[how][case]) if theirs else ("", None)
            yield Row(
                group, f"{how}: {case}", ours, UNITS.get(case, "s"), other, beside, at_most=MOST, limits_ratio=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--watchers", type=int, default=10_000)
    parser.add_argument("--within", type=float, default=1.0, help="seconds in which all come back")
    parser.add_argument("--how", choices=HOW, action="append", help="how the server is ended; both")
    parser.add_argument("--account", action="store_true", help="watch and read as a service account")
    parser.add_argument("--others", type=int, default=0, help="so many ConfigMaps beside what is watched")
    parser.add_argument("--beside", type=Path, metavar="PROGRAM", help="a kube-apiserver")
    parser.add_argument("--keep", action="store_true", help="write the rows for docs/performance/measurements.md")
    options = parser.parse_args()
    raise_descriptors(options.watchers)
    found = []
    with measured_servers(options.beside) as servers:
        for name, server, etcd in servers:
            fill(Server(server.url, server.token), Watched(options.watchers, tenants=False))
            if options.others:
                million.fill(etcd, options.others, 0, OTHER)
            found.append({how: storm(name, how, server, etcd, options) for how in options.how or HOW})
    if options.keep:
        keep(
            rows(found, options),
            "`python -m tests.benchmarks.storm`, server, watchers and reader on the same two cores",
        )


if __name__ == "__main__":
    main()
