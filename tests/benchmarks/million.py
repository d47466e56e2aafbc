"""A server in front of very many small objects: its start, its memory, and what makes requests wait.

    python -m tests.benchmarks.million [--maps 1000000] [--leases 300000] [--seconds 20] [--tree DIR] [--only-start]

The objects are written into an etcd as a gateway would have stored them; then a gateway is started on it. A client asks
for one object every few milliseconds all the time: what it waits for is what the collector, a comparison of the cache
with etcd, a compaction, a defragmentation or renewals hold up. Leases are renewed by transactions of others, as
fast as etcd takes them.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import os
import re
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

import grpc

from storage.embedded import EmbeddedEtcd
from storage.entry import MARK
from storage.etcd import EtcdClient, EtcdSettings
from storage.etcd.generated import rpc_pb2
from storage.etcd.generated.stubs import KVStub
from tests.benchmarks.compare import Server, begun, serve, wait_until_ready
from tests.benchmarks.crowd import percentile
from tests.benchmarks.early import Seen, ask, watched
from tests.benchmarks.kept import Row, keep
from tests.benchmarks.objects import TOKEN

OPERATIONS = 500  # of a transaction
AT_ONCE = 8
NAMESPACE = "million"
MAPS, LEASES = (f"/registry/{what}/{NAMESPACE}/" for what in ("configmaps", "leases"))
CREATED = "2026-01-01T00:00:00Z"
PAUSE = 0.005  # seconds between two requests of the client


def config_map(number: int, size: int) -> tuple[bytes, bytes]:
    """The key of a ConfigMap, and its value of the given size in bytes."""
    name = f"m-{number:07d}"
    head = f'{{"kind":"ConfigMap","apiVersion":"v1","metadata":{_metadata(name)},"data":{{"k":"'
    rest = b'"}}' + MARK
    return (MAPS + name).encode(), head.encode() + b"x" * (size - len(head) - len(rest)) + rest


def lease(number: int, renewed: int) -> tuple[bytes, bytes]:
    """The key of a Lease and its value, with the given renewTime in microseconds after midnight."""
    name = f"n-{number:06d}"
    at = f"2026-01-01T00:00:{renewed // 1_000_000 % 60:02d}.{renewed % 1_000_000:06d}Z"
    spec = f'{{"holderIdentity":"{name}","leaseDurationSeconds":40,"renewTime":"{at}"}}'
    head = f'{{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{_metadata(name)}'
    return (LEASES + name).encode(), f'{head},"spec":{spec}}}'.encode() + MARK


def _metadata(name: str) -> str:
    uid = str(uuid4())
    return f'{{"name":"{name}","namespace":"{NAMESPACE}","uid":"{uid}","creationTimestamp":"{CREATED}"}}'


async def put_all(
    etcd: str, made: Iterator[tuple[bytes, bytes]], until: float = float("inf"), operations: int = OPERATIONS
) -> int:
    """Stores them in large transactions until a time of the monotonic clock. Returns their number."""
    count = 0
    async with grpc.aio.insecure_channel(etcd.removeprefix("http://")) as channel:
        stub = KVStub(channel)

        async def work() -> None:
            nonlocal count
            while time.monotonic() < until:
                part = list(islice(made, operations))
                if not part:
                    return
                puts = [rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=key, value=value)) for key, value in part]
                await stub.Txn(rpc_pb2.TxnRequest(success=puts))
                count += len(part)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return count


def renewed(etcd: str, leases: int, seconds: float) -> int:
    """Renews one Lease after the other. Returns the number of renewals."""
    made = (lease(number, time.monotonic_ns() // 1000) for number in cycle(range(leases)))
    return asyncio.run(put_all(etcd, made, time.monotonic() + seconds, 20))


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a process in bytes: private, and the peak of the resident memory."""

    own: int
    peak: int


def memory(server: Server) -> Memory:
    """The memory of a server."""
    rollup = Path(f"/proc/{server.pid}/smaps_rollup").read_text(encoding="ascii")
    status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
    own = sum(int(found) for found in re.findall(r"Private_\w+: +(\d+) kB", rollup))
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak is not None
    return Memory(own * 1024, int(peak[1]) * 1024)


class Asking:
    """A client that sends one GET after the other on a connection."""

    def __init__(self, server: Server) -> None:
        host, _, port = server.url.removeprefix("https://").partition(":")
        self._connection = http.client.HTTPSConnection(
            host, int(port), context=ssl._create_unverified_context(), timeout=120
        )

    def get(self, path: str) -> bytes:
        """The answer, whose status must be 200."""
        self._connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, f"{path}: {answer.status} {body[:200]!r}"
        return body

    @contextmanager
    def meanwhile(self, path: str) -> Iterator[list[float]]:
        """Sends GETs all the time, in a thread. Returns the seconds of each answer."""
        took, over = list[float](), threading.Event()

        def ask() -> None:
            while not over.is_set():
                began = time.monotonic()
                self.get(path)
                took.append(time.monotonic() - began)
                over.wait(PAUSE)

        thread = threading.Thread(target=ask)
        thread.start()
        try:
            yield took
        finally:
            over.set()
            thread.join()


def fill(etcd: str, maps: int, leases: int, size: int) -> None:
    """Writes all objects and their namespace."""
    space = f'{{"kind":"Namespace","apiVersion":"v1","metadata":{_metadata(NAMESPACE)}'.replace(
        f'"namespace":"{NAMESPACE}",', ""
    )
    rest = ',"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}'
    asyncio.run(put_all(etcd, iter([(f"/registry/namespaces/{NAMESPACE}".encode(), (space + rest).encode() + MARK)])))
    asyncio.run(put_all(etcd, (config_map(number, size) for number in range(maps))))
    asyncio.run(put_all(etcd, (lease(number, 0) for number in range(leases))))
    asyncio.run(_compact(etcd))


GROUP = "A million objects"
EMPTY = 50_000_000  # bytes of a process without objects (hack/costs.json)
SETTLED = 20.0  # seconds


ASKED = {
    "health": "/livez",
    "namespaces": "/api/v1/namespaces",
    "definitions": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "discovery": "/apis",
    "a cluster role": "/apis/rbac.authorization.k8s.io/v1/clusterroles/view",
    "pods, of which there are none": "/api/v1/pods?resourceVersion=0",
    "a ConfigMap": f"/api/v1/namespaces/{NAMESPACE}/configmaps/m-0000007",
    "a page of Leases": f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases?limit=5",
    "what is not there": f"/api/v1/namespaces/{NAMESPACE}/configmaps/none",
}


def early(server: Server, seen: Mapping[str, Seen]) -> list[Row]:
    """When requests were answered during the start. Raises SystemExit if an answer differs from that after the
    start.
    """
    rows = [Row(GROUP, "first answer of a start", min(each.answered for each in seen.values()), "s")]
    for name, each in seen.items():
        wrong = each.wrong(ask(server.url, each.path)) if name != "health" else []
        if wrong:
            raise SystemExit(f"{each.path} was answered wrongly during the start: {wrong[0]}")
        rows.append(Row(GROUP, f"{name}, first served", each.served, "s"))
    return rows


def begin(server: Server, ready: float, objects: int, stored: int) -> list[Row]:
    """The cost of a server's start; it was ready after the given seconds."""
    cpu, used = server.cpu(), memory(server)
    time.sleep(SETTLED)  # its heap is trimmed meanwhile
    own = memory(server).own
    return [
        Row(GROUP, "ready after a start", ready, "s"),
        Row(GROUP, "CPU of the start", cpu / 1e9, "s"),
        Row(GROUP, "most memory during the start", used.peak / 1e6, "MB"),
        Row(GROUP, "memory after the start", used.own / 1e6, "MB"),
        Row(GROUP, f"memory {SETTLED:.0f} s later", own / 1e6, "MB"),
        Row(GROUP, "memory beside an object's bytes", (own - EMPTY - stored) / max(objects, 1), "bytes", at_most=400),
    ]


def disturbed(asking: Asking, what: str, work: Callable[[], object], rows: list[Row], most: float | None = 100) -> None:
    """Asks for an object while something is done, and notes how long that took: at `most` so many milliseconds."""
    with asking.meanwhile(f"/api/v1/namespaces/{NAMESPACE}/configmaps/m-0000007") as took:
        began = time.monotonic()
        work()
        spent = time.monotonic() - began
    rows += [
        Row(GROUP, f"{what}, for", spent, "s"),
        Row(GROUP, f"GET p99, {what}", percentile(took, 0.99), "ms", at_most=most),
        Row(GROUP, f"GET longest, {what}", percentile(took, 1.0), "ms"),
    ]
    show(rows[-3:])


def show(rows: list[Row]) -> None:
    """Prints rows."""
    for row in rows:
        print(f"{row.case:64s}{row.ours:12.1f} {row.unit}{'' if row.holds else '   not kept'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--maps", type=int, default=1_000_000)
    parser.add_argument("--leases", type=int, default=300_000)
    parser.add_argument("--size", type=int, default=300, help="bytes of a ConfigMap")
    parser.add_argument("--seconds", type=float, default=20.0, help="of renewals")
    parser.add_argument("--tree", type=Path, default=Path.cwd(), help="the work tree to serve from")
    parser.add_argument("--only-start", action="store_true", help="measure nothing but the start")
    parser.add_argument("--keep", action="store_true", help="write the rows for docs/performance/measurements.md")
    options = parser.parse_args()
    os.environ |= {"ETCD_QUOTA_BACKEND_BYTES": str(8 << 30), "ETCD_MAX_TXN_OPS": str(OPERATIONS)}
    rows: list[Row] = []
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory()))
        etcd = stack.enter_context(EmbeddedEtcd(directory / "etcd", loopback=True)).endpoint
        with ExitStack() as before:  # what every cluster has
            serve(options.tree, directory / "before", before, etcd=f"--etcd-servers={etcd}")
            time.sleep(5)  # roles are aggregated once it is ready
        began = time.monotonic()
        fill(etcd, options.maps, options.leases, options.size)
        print(f"written in {time.monotonic() - began:.0f} s", flush=True)
        stored = options.maps * options.size + options.leases * len(lease(0, 0)[1])
        objects = options.maps + options.leases
        began = time.monotonic()
        server = begun(options.tree, directory / "server", stack, etcd=f"--etcd-servers={etcd}")
        with watched(server, ASKED, began) as seen:
            wait_until_ready(server, directory / "server")
            ready = time.monotonic() - began
        rows += [*begin(server, ready, objects, stored), *early(server, seen)]
        show(rows)
        if not options.only_start:
            look(server, etcd, options, rows, stack)
    if options.keep:
        conditions = f"`python -m tests.benchmarks.million`, {options.maps:,} ConfigMaps of {options.size} bytes and"
        keep(rows, f"{conditions} {options.leases:,} Leases; load {os.getloadavg()[0]:.1f}")


def look(server: Server, etcd: str, options: argparse.Namespace, rows: list[Row], stack: ExitStack) -> None:
    """Measures the delay of requests during several other activities."""
    asking, other = Asking(server), Asking(server)
    disturbed(asking, "nothing else", lambda: time.sleep(5), rows)
    disturbed(asking, "a page of 500", lambda: other.get("/api/v1/configmaps?limit=500"), rows)
    disturbed(asking, "all compared with etcd", lambda: other.get("/debug/consistency"), rows)
    disturbed(asking, "compaction", lambda: asyncio.run(_compact(etcd)), rows)
    disturbed(asking, "defragmentation, for which etcd answers nobody", lambda: _defragment(etcd), rows, None)
    if options.leases:
        spent, made = server.cpu(), [0]
        alone = stack.enter_context(ProcessPoolExecutor(1, get_context("spawn")))

        def renew() -> None:  # in a process of its own: the client would wait for this one's interpreter
            made[0] = alone.submit(renewed, etcd, options.leases, options.seconds).result()

        disturbed(asking, "Leases renewed", renew, rows)
        rows += [
            Row(GROUP, "Leases renewed", made[0] / options.seconds, "a second"),
            Row(GROUP, "CPU of a renewal by others", (server.cpu() - spent) / 1e3 / max(made[0], 1), "µs"),
        ]
        show(rows[-2:])
    began = time.monotonic()
    size = len(other.get("/api/v1/configmaps?resourceVersion=0"))
    rows.append(Row(GROUP, f"LIST of all ConfigMaps, {size / 1e6:.0f} MB", time.monotonic() - began, "s"))
    rows.append(Row(GROUP, "resident in the end", memory(server).own / 1e6, "MB"))
    show(rows[-2:])


async def _compact(etcd: str) -> None:
    async with EtcdClient(EtcdSettings((etcd,), timeout=60)) as client:
        await client.compact(await client.revision(), physical=True, timeout=60)


def _defragment(etcd: str) -> None:
    """Defragments etcd through its HTTP gateway."""
    urllib.request.urlopen(f"{etcd}/v3/maintenance/defragment", b"{}", timeout=120).close()


if __name__ == "__main__":
    main()
