"""make bench: the gateway beside a bare ASGI function and beside its own etcd client, as ratios within one run.

    python -m tests.benchmarks [--objects 5000] [--seconds 4] [--rounds 3] [--only WORD]

One worker, TLS, token authentication. "raw" returns the same bytes from a bare ASGI function under the same uvicorn
settings; "direct" is the etcd client alone, doing the transaction that a create does with the same bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks import custom, decisions, deletion, load, representations, starting

TARGETS = {
    "GET rv=0 / raw": 0.45,
    "GET consistent, 32 connections / raw": 0.35,
    "LIST all, rv=0 / raw": 0.85,
    "LIST limit=500 / raw": 0.6,
    "CREATE pod, 32 connections / direct": 0.25,
    "merge PATCH pod, 32 connections / direct": 0.2,
    "apply unchanged deployment, 32 connections / direct": 0.3,
    "WATCH 200 watchers x 200 events / raw": 0.5,
    "CREATE gadget, 3 rules, 32 connections / direct": 0.2,
    "CREATE gadget, 3 rules, 32 connections / peer": 1.0,
    "GET gadget / pod, bytes": 0.9,
    "LIST gadgets / pods, bytes": 0.9,
    "WATCH gadgets / pods, bytes": 0.9,
}
TOKEN = "bench"
NAMESPACE = "bench"

CREATE = """
local c = 0
function init(args) name = args[1] end
request = function()
  c = c + 1
  return wrk.format("POST", nil, {["Authorization"]="Bearer %s", ["Content-Type"]="application/json"},
    (string.gsub([==[%s]==], "NAME", name .. "-" .. c)))
end
"""
PATCH = """
local c = 0
function init(args) run = args[1] end
request = function()
  c = c + 1
  return wrk.format("PATCH", "/api/v1/namespaces/%s/pods/pod-" .. string.format("%%06d", c %% %d),
    {["Authorization"]="Bearer %s", ["Content-Type"]="application/merge-patch+json"},
    '{"metadata":{"annotations":{"tick":"' .. run .. c .. '"}}}')
end
"""
APPLY = """
request = function()
  return wrk.format("PATCH", nil, {["Authorization"]="Bearer %s", ["Content-Type"]="application/apply-patch+yaml"},
    [==[%s]==])
end
"""


def pod(name: str, index: int) -> dict[str, Any]:
    """A pod of about 3 KB as stored."""
    environment = [{"name": f"E{each}", "value": "v" * 20} for each in range(6)]
    container = {"image": "nginx:1.25", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": f"a{index % 10}"}, "annotations": {"note": "x" * 600}},
        "spec": {
            "containers": [
                {**container, "name": f"c{n}", "ports": [{"containerPort": 80 + n}], "env": environment}
                for n in range(2)
            ]
        },
    }


def deployment() -> dict[str, Any]:
    """A deployment of about 4 KB as stored."""
    template = pod("", 0)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "applied", "annotations": {"note": "x" * 600}},
        "spec": {
            "selector": {"matchLabels": {"app": "a0"}},
            "template": {"metadata": {"labels": {"app": "a0"}}, "spec": template["spec"]},
        },
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Bench:
    """The servers under load, and what was measured so far."""

    options: argparse.Namespace
    directory: Path
    token: str = "bench"
    namespace: str = "bench"
    etcd: str = ""
    ours: str = ""
    raw: str = ""
    results: dict[str, list[float]] = field(default_factory=dict)
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
        self, case: str, ours: Callable[[], float], other: Callable[[], float], target: float | None = None
    ) -> None:
        """Measures both in turn, round by round, and keeps the ratios' medians."""
        if self.options.only and self.options.only not in case:
            return
        rounds = []
        for _ in range(self.options.rounds):
            theirs = other()
            rounds.append((ours(), theirs))
        ratio = statistics.median(mine / theirs for mine, theirs in rounds)
        mine, theirs = (statistics.median(column) for column in zip(*rounds, strict=True))
        self.show(case, mine, theirs, TARGETS[case] if target is None else target, ratio)

    def show(self, case: str, ours: float, other: float | None, target: float, ratio: float | None = None) -> None:
        """Prints a line: a ratio beside its target, or a number by itself beside its own."""
        shown = "".join("" if each is None else f"{each:.1f}".rjust(12) for each in (ours, other))
        compared = ours if ratio is None else ratio
        mark = "" if compared >= target else "   below"
        print(f"{case:54s}{shown:24s}{compared:8.2f}{target:8.2f}{mark}", flush=True)


def start(stack: ExitStack, *arguments: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-m", *arguments])
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


def wait_for(bench: Bench, url: str) -> None:
    for _ in range(200):
        try:
            bench.fetch(url)
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"{url} did not answer within 10 seconds")


def fill(bench: Bench) -> None:
    namespace = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}).encode()
    asyncio.run(load.send(bench.ours, TOKEN, [("POST", "/api/v1/namespaces", namespace)], 1))
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    bodies = [("POST", path, json.dumps(pod(f"pod-{i:06d}", i)).encode()) for i in range(bench.options.objects)]
    codes = asyncio.run(load.send(bench.ours, TOKEN, bodies))
    assert set(codes) == {201}, f"creating pods answered {set(codes)}"


def serve(bench: Bench, stack: ExitStack) -> tuple[subprocess.Popen[bytes], str]:
    """A gateway on the etcd, and its URL."""
    port = free_port()
    process = start(
        stack, "gateway.cli", "serve", f"--etcd-servers={bench.etcd}",
        f"--token-auth-file={bench.directory / 'tokens.csv'}", f"--secure-port={port}", "--bind-address=127.0.0.1",
        f"--cert-dir={bench.directory / 'certificates'}", "--disable-admission-plugins=ServiceAccount",
    )  # fmt: skip
    return process, f"https://127.0.0.1:{port}"


def prepare(bench: Bench, stack: ExitStack) -> subprocess.Popen[bytes]:
    """Starts etcd, the gateway and the raw server; the latter with the bytes that the gateway gives."""
    from gateway.certificates import ensure_certificates
    from storage.embedded import EmbeddedEtcd

    bench.etcd = stack.enter_context(EmbeddedEtcd(None)).endpoint
    tokens = bench.directory / "tokens.csv"
    tokens.write_text(f"{TOKEN},admin,1,system:masters\n")
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


def reads(bench: Bench) -> None:
    seconds = bench.options.seconds

    def rate(url: str, connections: int) -> Callable[[], float]:
        return lambda: load.wrk(url, TOKEN, seconds, connections)

    bench.record("GET rv=0 / raw", rate(bench.pods("/pod-000001?resourceVersion=0"), 16), rate(f"{bench.raw}/pod", 16))
    bench.record(
        "GET consistent, 32 connections / raw", rate(bench.pods("/pod-000001"), 32), rate(f"{bench.raw}/pod", 32)
    )
    bench.record("LIST all, rv=0 / raw", rate(bench.pods("?resourceVersion=0"), 4), rate(f"{bench.raw}/list", 4))
    bench.record("LIST limit=500 / raw", rate(bench.pods("?limit=500"), 8), rate(f"{bench.raw}/list500", 8))


def writes(bench: Bench) -> None:
    seconds = bench.options.seconds
    create = CREATE % (TOKEN, json.dumps(pod("NAME", 1)))
    patch = PATCH % (NAMESPACE, bench.options.objects, TOKEN)
    apply = APPLY % (TOKEN, json.dumps(deployment()))
    applied = f"{bench.ours}/apis/apps/v1/namespaces/{NAMESPACE}/deployments/applied?fieldManager=bench&force=true"

    def creates() -> float:
        return load.wrk(bench.pods(), TOKEN, seconds, 32, create, (f"r{random.randrange(1 << 30)}",))

    bench.record("CREATE pod, 32 connections / direct", creates, lambda: direct(bench))
    bench.record(
        "merge PATCH pod, 32 connections / direct",
        lambda: load.wrk(bench.ours, TOKEN, seconds, 32, patch, (f"r{random.randrange(1 << 30)}-",)),
        lambda: direct(bench),
    )
    bench.record(
        "apply unchanged deployment, 32 connections / direct",
        lambda: load.wrk(applied, TOKEN, seconds, 32, apply),
        lambda: direct(bench),
    )


def watches(bench: Bench) -> None:
    watchers, events = 200, 200

    def ours() -> float:
        word = f"w{random.randrange(1 << 30)}"
        bodies = [
            ("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", json.dumps({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{word}-{i}", "labels": {"bench": word}},
                "data": {"k": "x" * 500},
            }).encode())
            for i in range(events)
        ]  # fmt: skip
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps?watch=1&timeoutSeconds=120&labelSelector=bench%3D{word}"

        async def write() -> None:
            await load.send(bench.ours, TOKEN, bodies, 8)

        return asyncio.run(load.fan_out(bench.ours, path, TOKEN, watchers, events, b'"type":"ADDED"', write))

    def raw() -> float:
        async def go() -> None:
            await load.send(bench.raw, TOKEN, [("POST", "/go", b"")], 1)

        return asyncio.run(load.fan_out(bench.raw, "/stream", TOKEN, watchers, events, b'"type":"ADDED"', go))

    bench.options.rounds = 1  # the raw server streams once
    bench.record("WATCH 200 watchers x 200 events / raw", ours, raw)


def gadgets(bench: Bench) -> None:
    """Custom objects beside pods, beside the transaction, and beside a kube-apiserver (--peer)."""
    seconds, api = bench.options.seconds, custom.Api(bench.ours, TOKEN)
    custom.fill(api, TOKEN, NAMESPACE, bench.options.objects // 5)
    path = custom.collection(NAMESPACE)
    sizes = [len(bench.fetch(url)) for url in (f"{bench.ours}{path}/gadget-000001", bench.pods("/pod-000001"))]
    lists = [len(bench.fetch(url)) for url in (f"{bench.ours}{path}?limit=500", bench.pods("?limit=500"))]
    bench.gadget_value = bench.fetch(f"{bench.ours}{path}/gadget-000001")

    def bytes_of(url: str, size: int) -> Callable[[], float]:
        return lambda: load.wrk(url, TOKEN, seconds, 8) * size

    one, pod_one = f"{bench.ours}{path}/gadget-000001?resourceVersion=0", bench.pods("/pod-000001?resourceVersion=0")
    bench.record("GET gadget / pod, bytes", bytes_of(one, sizes[0]), bytes_of(pod_one, sizes[1]))
    some, some_pods = f"{bench.ours}{path}?limit=500", bench.pods("?limit=500")
    bench.record("LIST gadgets / pods, bytes", bytes_of(some, lists[0]), bytes_of(some_pods, lists[1]))
    create = CREATE % ("%s", json.dumps(custom.gadget("NAME")))

    def creates(url: str, token: str) -> float:
        return load.wrk(f"{url}{path}", token, seconds, 32, create % token, (f"r{random.randrange(1 << 30)}",))

    bench.record(
        "CREATE gadget, 3 rules, 32 connections / direct",
        lambda: creates(bench.ours, TOKEN),
        lambda: direct(bench, bench.gadget_value),
    )
    if bench.options.peer:
        peer = custom.Api(bench.options.peer, bench.options.peer_token)
        with contextlib.suppress(OSError):
            peer.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        with contextlib.suppress(OSError):
            peer.ask("POST", custom.DEFINITIONS, custom.definition())
        peer.until_served(path)
        bench.record(
            "CREATE gadget, 3 rules, 32 connections / peer",
            lambda: creates(bench.ours, TOKEN),
            lambda: creates(bench.options.peer, bench.options.peer_token),
        )
    bench.record(
        "WATCH gadgets / pods, bytes",
        lambda: custom.watched(bench.ours, TOKEN, path, lambda name: json.dumps(custom.gadget(name)).encode()),
        lambda: custom.watched(
            bench.ours, TOKEN, f"/api/v1/namespaces/{NAMESPACE}/pods", lambda name: json.dumps(pod(name, 1)).encode()
        ),
    )


def definitions(bench: Bench, gateway: subprocess.Popen[bytes], stack: ExitStack) -> None:
    """Five hundred definitions, and what is left of a hundred that come and go."""
    if bench.options.only and bench.options.only not in "definitions":
        return

    def begin() -> tuple[float, float]:
        begun = time.monotonic()
        process, url = serve(bench, stack)
        wait_for(bench, f"{url}/readyz")
        seconds = time.monotonic() - begun
        return seconds, custom.resident_megabytes(process)

    api = custom.Api(bench.ours, TOKEN)
    for what, value in custom.many(api, begin, lambda: custom.resident_megabytes(gateway)).items():
        limit = custom.LIMITS[what]
        print(f"{what:66s}{value:12.1f}{limit:16.1f}{'' if value <= limit else '   above'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--peer", default="", help="URL of a kube-apiserver with its controller-manager, to compare with"
    )
    parser.add_argument("--peer-token", default="tok")
    options = parser.parse_args()
    if not options.only or options.only in "start, stop, snapshot, restore":
        starting.report(options.rounds * 3)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = Bench(options, directory)
        gateway = prepare(bench, stack)
        size = len(bench.fetch(bench.pods("?resourceVersion=0"))) / (1 << 20)
        print(f"{options.objects} pods, {size:.1f} MB as a list; resident {custom.resident_megabytes(gateway):.0f} MB")
        print(f"{'':54s}{'ours':>12s}{'other':>12s}{'ratio':>8s}{'target':>8s}")
        reads(bench)
        writes(bench)
        representations.lists(bench)
        representations.watches(bench)
        gadgets(bench)
        watches(bench)
        decisions.main()
        deletion.report((bench.ours, TOKEN), (options.peer, options.peer_token), options.only)
        print(f"resident in the end: {custom.resident_megabytes(gateway):.0f} MB")
        definitions(bench, gateway, stack)


if __name__ == "__main__":
    main()
