"""Informers of client-go by the thousand: what it takes until all are synced, and what a server takes for them.

    python -m tests.benchmarks.informers [--clients 500] [--informers 30] [--account] [--beside PROGRAM] [--storm]
                                          [--keep]

Each client has a transport of its own and follows 30 resources, as tests/clients/crowd does in Go. The gateway speaks
HTTP/1.1, so that each of its watches has a connection; client-go has one connection of HTTP/2 to a kube-apiserver,
which PROGRAM is. Each server is started here, on an etcd of its own, one after the other. With `--storm` it is then
ended and started again, by SIGTERM and by SIGKILL, and all clients come back as client-go has them come back. With
`--account` they are a service account, which is not exempt from priority and fairness.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storage.embedded import EmbeddedEtcd
from tests.benchmarks.account import account
from tests.benchmarks.crowd import Server
from tests.benchmarks.kept import Row, keep
from tests.benchmarks.peer import Measured, kube_apiserver
from tests.clients.golang import program

FLAGS = ("--disable-admission-plugins=ServiceAccount",)


class Informers:
    """The Go process, while it runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the informers ended with status {self._process.wait()}")
        return line

    def report(self) -> dict[str, Any]:
        """Its output once all watches are open."""
        found: dict[str, Any] = json.loads(self._line())
        return found

    def ask(self, command: str) -> None:
        """Sends it a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()

    def mark(self) -> None:
        """Resets its counters."""
        self.ask("mark")
        assert self._line() == "marked\n"

    @property
    def server(self) -> Server:
        """Its process, in the form of a server to measure."""
        return Server("", "", self._process.pid)


@contextmanager
def informers(server: Measured, token: str, clients: int, count: int, patience: int = 300) -> Iterator[Informers]:
    """Runs that many clients with that many informers each until the block ends."""
    command = [str(program("crowd")), f"-url={server.url}", f"-token={token}"]
    command += [f"-clients={clients}", f"-informers={count}", f"-patience={patience}s"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Informers(process)
    finally:
        process.kill()
        process.communicate()


@dataclass(frozen=True, slots=True)
class Spent:
    """The resources used by processes at one time: seconds of CPU, MB."""

    cpu: float
    resident: int
    own: int
    peak: int


def spent(pid: int) -> Spent:
    """The resources used by a process and its threads."""
    proc = Path(f"/proc/{pid}")
    rollup, status = (proc / "smaps_rollup").read_text(), (proc / "status").read_text()
    own, peak = re.search(r"Pss: +(\d+)", rollup), re.search(r"VmHWM:\s+(\d+)", status)
    assert own is not None and peak is not None
    server = Server("", "", pid)
    return Spent(server.cpu_seconds(), server.megabytes(), int(own[1]) // 1024, int(peak[1]) // 1024)


def raise_descriptors(watches: int) -> None:
    """Raises the limit of file descriptors to the maximum. Ends the program if that is too low for the watches."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < watches + 1000:
        raise SystemExit(f"{watches} watches need more descriptors than the {hard} that ulimit -Hn allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def watches_of(etcd: str) -> int:
    """The number of watch streams opened at an etcd since its start."""
    with urllib.request.urlopen(f"{etcd}/metrics") as answer:
        found = re.search(rb'^grpc_server_started_total{grpc_method="Watch".*} (\d+)', answer.read(), re.MULTILINE)
    return int(found[1]) if found else 0


def synced(name: str, server: Measured, crowd: Informers) -> dict[str, float]:
    """The cost of the first sync; prints it."""
    before = spent(server.pid)
    found = crowd.report()
    took = found["opened"][2] - found["began"]
    time.sleep(2)  # what is freed later
    after, theirs = spent(server.pid), crowd.server
    print(
        f"{name}: {found['watches']} watches synced in {took:.1f} s; server {after.cpu - before.cpu:.1f} s of CPU,"
        f" clients {theirs.cpu_seconds():.1f} s\n"
        f"  {found['connections']} connections, {found['open_connections']} open; {found['handshakes']} handshakes"
        f" ({found['resumed']} resumed, {found['failed_handshakes']} failed), {_shown(found['handshake_seconds'])}\n"
        f"  received {found['received'] / 1e6:.1f} MB, sent {found['sent'] / 1e6:.1f} MB; answers {found['answers']}\n"
        f"  server: {before.resident} MB before, {after.resident} MB after (PSS {after.own}, peak {after.peak}),"
        f" clients {theirs.megabytes()} MB",
        flush=True,
    )
    a_watch = (after.own - before.own) * 1000 / found["watches"]
    taken = (
        took,
        after.cpu - before.cpu,
        found["connections"],
        found["handshakes"] - found["resumed"],
        found["received"] / 1e6,
        after.own,
        a_watch,
    )
    return dict(zip(CASES, taken, strict=True))


CASES = {  # what is kept of the first sync: its unit
    "until all are synced": "s",
    "CPU for that": "s",
    "connections": "",
    "whole TLS handshakes": "",
    "received": "MB",
    "memory with all open": "MB",
    "memory of a watch": "kB",
}
LIMITED = ("until all are synced", "CPU for that", "memory with all open", "memory of a watch")  # by a kube-apiserver's


def _shown(seconds: list[float] | None) -> str:
    return "p50 {:.3f}, p99 {:.3f}, max {:.3f} s".format(*seconds) if seconds else "none"


def storm(name: str, how: str, server: Measured, crowd: Informers, etcd: str) -> dict[str, float]:
    """Stops the server, starts it again, and waits until all watches are open again. Prints the cost."""
    crowd.mark()
    before, ended = watches_of(etcd), time.time()
    (server.stop if how == "SIGTERM" else server.kill)()
    gone = time.time()
    server.start()
    ready = time.time()
    crowd.ask("wait")
    found = crowd.report()
    time.sleep(1)
    after = spent(server.pid)
    median, late, last = (each - ready for each in found["opened"])
    streams = watches_of(etcd) - before
    print(
        f"{name}, {how}: ended in {gone - ended:.1f} s, ready {ready - gone:.1f} s later; watches open again"
        f" after that: p50 {median:.1f}, p99 {late:.1f}, all {last:.1f} s\n"
        f"  server {after.cpu:.1f} s of CPU since its start, {after.resident} MB (peak {after.peak});"
        f" {streams} watch streams of etcd\n"
        f"  {found['connections']} connections, {found['handshakes']} handshakes ({found['resumed']} resumed,"
        f" {found['failed_handshakes']} failed), {_shown(found['handshake_seconds'])}\n"
        f"  answers {found['answers']}",
        flush=True,
    )
    return {"served again after": last, "CPU since the start": after.cpu, "memory, peak": after.peak}


@contextmanager
def measured_servers(beside: Path | None) -> Iterator[Iterator[tuple[str, Measured, str]]]:
    """The gateway and then, if there is its program, a kube-apiserver, each with an etcd whose endpoint is the last."""

    def each() -> Generator[tuple[str, Measured, str], None, None]:
        from apiserver_gateway.testing import api_server

        with EmbeddedEtcd(loopback=True) as etcd, api_server(*FLAGS, etcd_servers=etcd.endpoint) as api:
            yield "gateway", api, etcd.endpoint
        if beside is not None:
            with (
                EmbeddedEtcd(loopback=True) as etcd,
                tempfile.TemporaryDirectory() as directory,
                kube_apiserver(beside, Path(directory), etcd.endpoint) as peer,
            ):
                yield "kube-apiserver", peer, etcd.endpoint

    made = each()
    try:
        yield made
    finally:
        made.close()


def measure(name: str, server: Measured, etcd: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """What one server takes, by what was done."""
    token = account(server) if options.account else server.token
    with informers(server, token, options.clients, options.informers) as crowd:
        found = {"sync": synced(name, server, crowd)}
        for how in ("SIGTERM", "SIGKILL") if options.storm else ():
            found[how] = storm(name, how, server, crowd, etcd)
    return found


def rows(found: list[dict[str, dict[str, float]]], options: argparse.Namespace) -> Iterator[Row]:
    """The rows for docs/performance/measurements.md."""
    group = f"{options.clients} clients of client-go with {options.informers} informers each"
    group += ", as a service account" if options.account else ""
    theirs = found[1] if found[1:] else {}
    for part, cases in found[0].items():
        for case, ours in cases.items():
            what = case if part == "sync" else f"{part} and a new start: {case}"
            unit = CASES.get(case, "MB" if "memory" in case else "s")
            most = 1.0 if case in LIMITED else None
            other = "kube-apiserver" if theirs else ""
            beside = theirs.get(part, {}).get(case)
            yield Row(group, what, ours, unit, other, beside, at_most=most, limits_ratio=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--informers", type=int, default=30)
    parser.add_argument("--account", action="store_true", help="watch as a service account")
    parser.add_argument("--beside", type=Path, metavar="PROGRAM", help="a kube-apiserver")
    parser.add_argument("--storm", action="store_true")
    parser.add_argument("--keep", action="store_true", help="write the rows for docs/performance/measurements.md")
    options = parser.parse_args()
    raise_descriptors(options.clients * options.informers)
    with measured_servers(options.beside) as servers:
        found = [measure(*each, options) for each in servers]
    if options.keep:
        keep(rows(found, options), "`python -m tests.benchmarks.informers`, servers and clients on the same two cores")


if __name__ == "__main__":
    main()
