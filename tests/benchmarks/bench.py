"""The servers under load: etcd, the gateway, and a bare one that sends the same bytes."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks import load
from tests.benchmarks.objects import NAMESPACE, READER, TOKEN, pod

TARGETS = {
    "GET rv=0 / raw": 0.45,
    "GET consistent, 32 connections / raw": 0.35,
    "LIST all, rv=0 / raw": 0.85,
    "LIST limit=500 / raw": 0.6,
    "CREATE pod, 32 connections / direct": 0.25,
    "CREATE pod guarded / unguarded": 0.77,  # 1 / 1.3
    "CREATE pod beside 200 configurations / alone": 0.98,
    "CREATE pod with quota / without": 0.77,
    "merge PATCH pod, 32 connections / direct": 0.2,
    "apply unchanged deployment, 32 connections / direct": 0.3,
    "WATCH 200 watchers x 200 events / raw": 0.5,
    "CREATE gadget, 3 rules, 32 connections / direct": 0.2,
    "CREATE gadget, 3 rules, 32 connections / peer": 1.0,
    "GET gadget / pod, bytes": 0.95,
    "LIST gadgets / pods, bytes": 0.95,
    "WATCH gadgets / pods, bytes": 0.95,
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Bench:
    """The servers under load, and the results so far."""

    options: argparse.Namespace
    directory: Path
    token: str = "bench"
    namespace: str = "bench"
    etcd: str = ""
    ours: str = ""
    raw: str = ""
    results: dict[str, list[float]] = field(default_factory=dict)
    shown: list[dict[str, object]] = field(default_factory=list)
    pod_value: bytes = b""
    gadget_value: bytes = b""

    def pods(self, query: str = "") -> str:
        return f"{self.ours}/api/v1/namespaces/{NAMESPACE}/pods{query}"

    def fetch(self, url: str, accept: str = "application/json") -> bytes:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKEN}", "Accept": accept})
        context = ssl._create_unverified_context()
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            return bytes(answer.read())

    def record(
        self,
        case: str,
        ours: Callable[[], float],
        other: Callable[[], float],
        target: float | None = None,
        times: int = 1,
    ) -> None:
        """Measures both in turn, round by round, and keeps the medians of the ratios. `times` multiplies the number of
        rounds.
        """
        if self.options.only and self.options.only not in case:
            return
        rounds = []
        for _ in range(self.options.rounds * times):
            theirs = other()
            rounds.append((ours(), theirs))
        ratio = statistics.median(mine / theirs for mine, theirs in rounds)
        mine, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
        self.show(case, mine, theirs, TARGETS[case] if target is None else target, ratio)

    def show(self, case: str, ours: float, other: float | None, target: float, ratio: float | None = None) -> None:
        """Prints a line: a ratio with its target, or a single number with its own."""
        shown = "".join("" if each is None else f"{each:.1f}".rjust(12) for each in (ours, other))
        compared = ours if ratio is None else ratio
        self.shown.append({"case": case, "ours": ours, "other": other, "ratio": ratio, "target": target})
        mark = "" if compared >= target else "   below"
        print(f"{case:54s}{shown:24s}{compared:8.2f}{target:8.2f}{mark}", flush=True)


def start(stack: ExitStack, *arguments: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-m", *arguments])
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


def wait_for(bench: Bench, url: str) -> None:
    for _ in range(600):
        try:
            bench.fetch(url)
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{url} did not answer within 30 seconds")


def fill(bench: Bench) -> None:
    namespace = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}).encode()
    asyncio.run(load.send(bench.ours, TOKEN, [("POST", "/api/v1/namespaces", namespace)], 1))
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    bodies = [("POST", path, json.dumps(pod(f"pod-{i:06d}", i)).encode()) for i in range(bench.options.objects)]
    codes = asyncio.run(load.send(bench.ours, TOKEN, bodies))
    assert set(codes) == {201}, f"creating pods answered {set(codes)}"


def serve(bench: Bench, stack: ExitStack, *flags: str) -> tuple[subprocess.Popen[bytes], str]:
    """Starts a gateway on the etcd. Returns its URL."""
    port = free_port()
    process = start(
        stack, "gateway.commands.cli", "serve", f"--etcd-servers={bench.etcd}",
        f"--token-auth-file={bench.directory / 'tokens.csv'}", f"--secure-port={port}", "--bind-address=127.0.0.1",
        f"--cert-dir={bench.directory / 'certificates'}", "--disable-admission-plugins=ServiceAccount", *flags,
    )  # fmt: skip
    return process, f"https://127.0.0.1:{port}"


def prepare(bench: Bench, stack: ExitStack) -> subprocess.Popen[bytes]:
    """Starts etcd, the gateway and the raw server, which sends the same bytes as the gateway."""
    from gateway.credentials.certificates import ensure_certificates
    from storage.embedded import EmbeddedEtcd

    os.environ.setdefault("ETCD_QUOTA_BACKEND_BYTES", str(8 << 30))  # a fast machine writes more than the usual 2 GiB
    bench.etcd = stack.enter_context(EmbeddedEtcd(None)).endpoint
    tokens = bench.directory / "tokens.csv"
    tokens.write_text(f'{TOKEN},admin,1,system:masters\n{READER},reader,2,"people,readers"\n')
    gateway, bench.ours = serve(bench, stack)
    wait_for(bench, f"{bench.ours}/readyz")
    fill(bench)
    served = bench.directory / "raw"
    served.mkdir()
    made = ensure_certificates(bench.directory / "certificates", ["127.0.0.1"])
    shutil.copy(made.certificate, served / "tls.crt")
    shutil.copy(made.key, served / "tls.key")
    bench.pod_value = bench.fetch(bench.pods("/pod-000001"))
    (served / "pod").write_bytes(bench.pod_value)
    (served / "list").write_bytes(bench.fetch(bench.pods("?resourceVersion=0")))
    (served / "list500").write_bytes(bench.fetch(bench.pods("?limit=500")))
    line = b'{"type":"ADDED","object":' + bench.fetch(f"{bench.ours}/api/v1/namespaces/{NAMESPACE}") + b"}\n"
    (served / "events").write_bytes((line[:-3] + b',"data":"%s"}}\n' % (b"x" * 500)) * 200)
    port = free_port()
    start(stack, "tests.benchmarks.raw", str(port), str(served))
    bench.raw = f"https://127.0.0.1:{port}"
    wait_for(bench, f"{bench.raw}/pod")
    return gateway


async def direct_creates(etcd: str, value: bytes, seconds: float, connections: int = 32) -> float:
    """Create transactions a second with the etcd client alone."""
    from storage.etcd import EtcdClient, EtcdSettings

    prefix = f"/bench/{random.randrange(1 << 40)}/".encode()
    count = 0
    async with EtcdClient(EtcdSettings(endpoints=(etcd,))) as client:
        end = time.monotonic() + seconds

        async def worker(number: int) -> None:
            nonlocal count
            index = 0
            while time.monotonic() < end:
                await client.create(prefix + b"%d-%d" % (number, index), value)
                index += 1
                count += 1

        await asyncio.gather(*(worker(number) for number in range(connections)))
        await client.delete(prefix, prefix[:-1] + b"0")
    return count / seconds


def direct(bench: Bench, value: bytes = b"") -> float:
    import uvloop

    return float(uvloop.run(direct_creates(bench.etcd, value or bench.pod_value, bench.options.seconds)))
