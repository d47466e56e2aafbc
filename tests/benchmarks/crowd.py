"""A crowd of watchers of one object each: how late they hear of changes, and how late others are answered meanwhile.

    python -m tests.benchmarks.crowd [--watchers 10000] [--rate 500] [--seconds 20] [--elsewhere] [--tenants]
                                      [--beside URL,TOKEN,PID,ETCD]

Half of the watchers are kubelets, which select pods by spec.nodeName in all namespaces; the others watch one pod by its
name. With `--tenants` each watches all pods of a namespace of its own, as the informer of a tenant does. Each change
concerns one of them. They are PATCHes of the server's, or with `--elsewhere` writes into its etcd, as another replica
makes them: so the crowd is measured alone, and the CPU of a change is that of its delivery. The server is started here,
on an etcd of its own, unless there is `--no-server`; `--beside` names others that are measured in the same run, one
after the other, as a kube-apiserver.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.crowd_client import Crowd, Loop, send_all
from tests.benchmarks.kept import Row, keep

NAMESPACE = "crowd"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@dataclass(frozen=True, slots=True)
class Server:
    """The server to measure. With its process id, its CPU time and memory are measured, too."""

    url: str
    token: str
    pid: int = 0
    etcd: str = ""

    @property
    def address(self) -> tuple[str, int]:
        parts = urllib.parse.urlsplit(self.url)
        return parts.hostname or "127.0.0.1", parts.port or 443

    def cpu_seconds(self) -> float:
        """The CPU seconds of its process since its start."""
        if not self.pid:
            return 0.0
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> int:
        """The resident memory in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text() if self.pid else "VmRSS: 0"
        return int(status.split("VmRSS:")[1].split()[0]) // 1024


def pod(index: int, watchers: int) -> dict[str, Any]:
    """The pod of one watcher; on its own node if the watcher acts as a kubelet."""
    container = {"name": "c", "image": "nginx", "env": [{"name": f"E{n}", "value": "v" * 20} for n in range(10)]}
    spec: dict[str, Any] = {"containers": [container], "terminationGracePeriodSeconds": 0}
    if index < watchers // 2:
        spec["nodeName"] = f"node-{index}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{index}", "annotations": {"note": "x" * 600}},
        "spec": spec,
    }


@dataclass(frozen=True, slots=True)
class Watched:
    """What the watchers watch."""

    watchers: int
    tenants: bool

    def pods(self, index: int) -> str:
        """The path of the pods among which is the pod of one watcher."""
        return f"/api/v1/namespaces/tenant-{index}/pods" if self.tenants else PODS

    def watch(self, index: int) -> str:
        """The path of a watch: of a namespace, or of one object, selected by its node or by its name."""
        asked = "watch=1&timeoutSeconds=3000&resourceVersion=0"
        if self.tenants:
            return f"{self.pods(index)}?{asked}"
        if index < self.watchers // 2:
            return f"/api/v1/pods?{asked}&fieldSelector=spec.nodeName%3Dnode-{index}"
        return f"{PODS}?{asked}&fieldSelector=metadata.name%3Dpod-{index}"

    def namespaces(self) -> list[str]:
        """The namespaces to make."""
        return [f"tenant-{index}" for index in range(self.watchers)] if self.tenants else [NAMESPACE]

    @property
    def prefix(self) -> str:
        """What the keys of all their pods in etcd begin with."""
        return "/registry/pods/tenant-" if self.tenants else f"/registry/pods/{NAMESPACE}/"


def percentile(values: list[float], share: float) -> float:
    """In milliseconds."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] * 1000 if values else float("nan")


def fill(server: Server, watched: Watched) -> None:
    """Creates the namespaces and the pods."""
    loop = Loop(server.address, server.token)
    spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in watched.namespaces()]
    send_all(loop, [("POST", "/api/v1/namespaces", json.dumps(each).encode()) for each in spaces])
    made = range(watched.watchers)
    send_all(loop, [("POST", watched.pods(each), json.dumps(pod(each, watched.watchers)).encode()) for each in made])
    loop.close()


def measure(name: str, server: Server, options: argparse.Namespace) -> dict[str, float]:
    """Measures one server and prints a line. Returns the results by the cases of LIMITS."""
    watchers = options.watchers
    watched = Watched(watchers, options.tenants)
    fill(server, watched)
    loop = Loop(server.address, server.token)
    crowd = Crowd(loop)
    began, spent = time.monotonic(), server.cpu_seconds()
    paths = [watched.watch(index) for index in range(watchers)]
    crowd.watch(random.sample(paths, len(paths)))
    opened, opening = time.monotonic() - began, server.cpu_seconds() - spent
    began = time.monotonic()
    while time.monotonic() < began + 3:
        loop.turn(0.5)
    spent, mine = server.cpu_seconds(), time.process_time()
    writer = _elsewhere(server, watched.prefix, options) if options.elsewhere else None
    rate, seconds = (0, options.seconds + 3) if writer else (options.rate, options.seconds)
    crowd.run(_changes(watched), f"{watched.pods(7)}/pod-7", rate, seconds)
    measured = crowd.measured
    if writer is not None:
        measured.written = int(writer.communicate()[0])
    crowd.settle()
    spent = server.cpu_seconds() - spent
    share, each = spent / options.seconds, spent / max(1, len(measured.delivered)) * 1e6
    client = (time.process_time() - mine) / options.seconds
    print(
        f"{name:16s} {watchers} watches in {opened:.0f} s ({opening:.0f} s of CPU), {server.megabytes()} MB resident\n"
        f"  {measured.written} changes, {len(measured.delivered)} delivered, {measured.failed} failed,"
        f" {loop.broken} watches broken, client late by {measured.late * 1000:.0f} ms\n"
        + "".join(
            f"  {what:28s} p50 {percentile(values, 0.5):7.1f}   p99 {percentile(values, 0.99):7.1f}"
            f"   max {percentile(values, 1.0):7.1f} ms\n"
            for what, values in (
                ("write sent until delivered", measured.delivered),
                ("write sent until answered", measured.acknowledged),
                ("GET", measured.reads),
            )
            if values
        )
        + f"  CPU of the server {share:.2f}, of the client {client:.2f} cores; of a change {each:.0f} µs",
        flush=True,
    )
    loop.close()
    delivered, late = len(measured.delivered) / options.seconds, percentile(measured.delivered, 0.99)
    found = (opened, delivered, late, percentile(measured.reads, 0.99), server.megabytes(), share, each)
    return dict(zip(LIMITS, found, strict=True))


LIMITS: dict[str, tuple[str, float | None]] = {  # of what is kept: its unit, and what it is to be at most
    "until all watches are open": ("s", None),
    "changes delivered": ("1/s", None),
    "write sent until delivered, p99": ("ms", 50),
    "GET meanwhile, p99": ("ms", 20),
    "memory": ("MB", None),
    "CPU": ("cores", None),
    "CPU of a change": ("µs", None),
}


def rows(ours: dict[str, float], beside: dict[str, float], options: argparse.Namespace) -> list[Row]:
    """The rows for docs/performance/measurements.md, with those of a kube-apiserver if it was measured, too."""
    of_what = "watches of a namespace each" if options.tenants else "watches"
    how = " made in etcd" if options.elsewhere else ""
    group = f"{options.watchers:,} {of_what}, {options.rate:.0f} changes/s{how}"
    other = "kube-apiserver" if beside else ""
    return [
        Row(group, case, ours[case], unit, other, beside.get(case), at_most=None if options.elsewhere else most)
        for case, (unit, most) in LIMITS.items()
    ]


def _elsewhere(server: Server, prefix: str, options: argparse.Namespace) -> subprocess.Popen[bytes]:
    words = (server.etcd, prefix, options.rate, options.seconds, server.url, server.token)
    command = [sys.executable, "-m", "tests.benchmarks.crowd_writer", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def _changes(watched: Watched) -> Callable[[int], tuple[str, str, bytes]]:
    def change(number: int) -> tuple[str, str, bytes]:
        body = b'{"metadata":{"annotations":{"crowd":"%d-%d"}}}' % (number, time.monotonic_ns())
        index = random.randrange(watched.watchers)
        return "PATCH", f"{watched.pods(index)}/pod-{index}", body

    return change


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--watchers", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--beside", action="append", default=[], metavar="URL,TOKEN,PID,ETCD")
    parser.add_argument("--elsewhere", action="store_true", help="writes are made into etcd")
    parser.add_argument("--tenants", action="store_true", help="each watch is of a namespace of its own")
    parser.add_argument("--no-server", action="store_true", help="start none: only those of --beside")
    parser.add_argument("--flag", action="append", default=[], help="of the server that is started")
    parser.add_argument("--keep", action="store_true", help="write the rows for docs/performance/measurements.md")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < options.watchers + 500:
        sys.exit(f"{options.watchers} watches need more descriptors than the {hard} that ulimit -Hn allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    found = list[dict[str, float]]()
    if not options.no_server:
        from apiserver_gateway.testing import api_server

        flags = ("--disable-admission-plugins=ServiceAccount", "--controllers=*", *options.flag)
        with api_server(*flags) as api:
            found.append(measure("gateway", Server(api.url, api.token, api.pid, api.etcd_endpoint), options))
    for each in options.beside:
        url, token, pid, etcd = each.split(",")
        found.append(measure(url, Server(url, token, int(pid), etcd), options))
    if options.keep:
        keep(
            rows(found[0], found[1] if found[1:] else {}, options),
            f"`python -m tests.benchmarks.crowd`, one after the other, load {os.getloadavg()[0]:.1f}",
        )


if __name__ == "__main__":
    main()
