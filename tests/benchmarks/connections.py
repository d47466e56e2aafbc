"""A crowd of clients that connect within a second: until all are served, and the memory of each connection.

    python -m tests.benchmarks.connections [--clients 5000] [--resumed 500] [--beside URL,TOKEN,PID] [--keep]

Each client has a TLS connection of its own, asks for one namespace, and stays. Then some come back once more with the
session tickets that they got: a resumed handshake needs no signature of the server. The server is started here; another
one, as a kube-apiserver, is measured after it. Clients and servers share the machine's cores.
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import ssl
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.crowd import Server, percentile
from tests.benchmarks.crowd_client import Connection, Loop
from tests.benchmarks.kept import Row, keep

PATH = "/api/v1/namespaces/default"
PATIENCE = 120.0  # seconds
READ = 1 << 16


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds until all were served, and until the middle and the last hundredth were; clients that were not served;
    seconds of CPU; bytes of memory for each connection; microseconds of CPU for a connection, whole and resumed.
    """

    served: float
    half: float
    late: float
    failed: int
    cpu: float
    memory: float
    whole: float
    resumed: float


def crowd(server: Server, clients: int) -> tuple[Loop, list[float], float]:
    """Connects all clients within a second. Returns the seconds of each until its answer, and of all."""
    loop = Loop(server.address, server.token)
    took: list[float] = []

    def received(connection: Connection, data: bytes) -> None:
        if connection.answer(data) == 200:
            took.append(time.monotonic() - connection.began)

    began, made = time.monotonic(), 0
    while len(took) + loop.broken < clients and time.monotonic() < began + PATIENCE:
        due = min(clients, int((time.monotonic() - began) * clients) + 1)
        while made < due:
            loop.connect(received).request("GET", PATH)
            made += 1
        loop.turn(0.0 if made < clients else 0.05)
    return loop, took, time.monotonic() - began


def one_by_one(server: Server, count: int, resuming: bool) -> tuple[float, int]:
    """Connects, asks and leaves. Returns microseconds of the server's CPU for each, and how many were resumed."""
    context = ssl._create_unverified_context()
    session: ssl.SSLSession | None = None
    asked = f"GET {PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n\r\n".encode()
    spent, reused = server.cpu_seconds(), 0
    for _ in range(count):
        with context.wrap_socket(socket.create_connection(server.address), session=session) as stream:
            stream.sendall(asked)
            stream.recv(READ)
            reused += bool(stream.session_reused)
            session = stream.session if resuming else None
    return (server.cpu_seconds() - spent) / count * 1e6, reused


def measure(name: str, server: Server, options: argparse.Namespace) -> Found:
    """Measures one server and prints a line."""
    one_by_one(server, 20, resuming=True)  # what is imported and made once
    before, spent = _resident(server), server.cpu_seconds()
    loop, took, seconds = crowd(server, options.clients)
    cpu = server.cpu_seconds() - spent
    memory = (_resident(server) - before) / max(1, len(took))
    failed = options.clients - len(took)
    loop.close()
    whole, _ = one_by_one(server, options.resumed, resuming=False)
    resumed, reused = one_by_one(server, options.resumed, resuming=True)
    found = Found(
        seconds, percentile(took, 0.5) / 1000, percentile(took, 0.99) / 1000, failed, cpu, memory, whole, resumed
    )
    print(
        f"{name:16s} {options.clients} served in {seconds:.1f} s (half {found.half:.1f}, p99 {found.late:.1f}),"
        f" {failed} failed, {cpu:.1f} s of CPU, {memory / 1000:.1f} kB each;"
        f" a connection takes {whole:.0f} µs of CPU, resumed {resumed:.0f} ({reused} of {options.resumed})",
        flush=True,
    )
    return found


def _resident(server: Server) -> int:
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def rows(ours: Found, beside: Found | None, clients: int) -> list[Row]:
    """The rows for docs/performance/measurements.md."""
    what = {
        "until all are served": ("s", "served", 1.0, 1.0),
        "served after, p99": ("s", "late", 1.0, 1.0),
        "not served": ("", "failed", 1.0, None),
        "CPU": ("s", "cpu", 1.0, 1.0),
        "memory of a connection": ("kB", "memory", 1e-3, 1.0),
        "CPU of a connection and a GET": ("µs", "whole", 1.0, None),
        "CPU of a resumed connection and a GET": ("µs", "resumed", 1.0, None),
    }
    name = "kube-apiserver" if beside else ""
    return [
        Row(
            f"{clients:,} clients connect within a second", case, getattr(ours, field) * scale, unit, name,
            getattr(beside, field) * scale if beside else None, at_most=most, limits_ratio=most is not None,
        )
        for case, (unit, field, scale, most) in what.items()
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=5000)
    parser.add_argument("--resumed", type=int, default=500)
    parser.add_argument("--beside", metavar="URL,TOKEN,PID", help="another server, as a kube-apiserver")
    parser.add_argument("--keep", action="store_true", help="write the rows for docs/performance/measurements.md")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard < options.clients + 500:
        sys.exit(f"{options.clients} clients need more descriptors than the {hard} that ulimit -Hn allows")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    from apiserver_gateway.testing import api_server

    with api_server() as api:
        ours = measure("gateway", Server(api.url, api.token, api.pid), options)
    beside = None
    if options.beside:
        url, token, pid = options.beside.split(",")
        beside = measure("beside", Server(url, token, int(pid)), options)
    if options.keep:
        said = f"clients on the same cores, load {os.getloadavg()[0]:.1f}"
        keep(rows(ours, beside, options.clients), f"`python -m tests.benchmarks.connections`, {said}")


if __name__ == "__main__":
    main()
