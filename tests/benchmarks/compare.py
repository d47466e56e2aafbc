"""What a request costs in one work tree beside another: CPU time of the two servers, as ratios.

    python -m tests.benchmarks.compare TREE_BEFORE TREE_AFTER [--rounds 15] [--only WORD] [--objects 5000] [--json FILE]

The exit status is 1 if a case takes over 3 % more CPU (--limit 1.03): both by the median of the ratios and by the least
of all rounds.

Both serve from embedded etcds, and take turns in slices of some hundred requests, each once before and once after the
other; what is compared is the time for which the threads of a server ran (/proc/PID/task/*/schedstat, nanoseconds). So
others who use the machine matter little: rates would be theirs. On a busy one caches are shared, too; then the ratio of
the least of all rounds says more than the median.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.benchmarks import load
from tests.benchmarks.bench import free_port
from tests.benchmarks.guarded import COUNTED, GUARDED, guards, quota, safe_pod
from tests.benchmarks.objects import NAMESPACE, TOKEN, deployment, pod

CONNECTIONS = 8
LIMIT = 1.03
WATCHERS, WRITES = 50, 40
APPLIED = 40
JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_COLLECTION = f"/api/v1/namespaces/{NAMESPACE}"
_APPLIED = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/applied-%d?fieldManager=compare&force=true"


@dataclass(frozen=True, slots=True)
class Server:
    """A gateway of one tree."""

    url: str
    pid: int

    def cpu(self) -> int:
        """The CPU time of its threads in nanoseconds. No thread ends during a measurement."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks)


def serve(
    tree: Path,
    directory: Path,
    stack: ExitStack,
    program: Sequence[str] = ("-m", "gateway"),
    environment: Mapping[str, str] = MappingProxyType({}),
    etcd: str = "--embedded-etcd",
    python: str = sys.executable,
    flags: Sequence[str] = (),
) -> Server:
    """Starts a gateway of a tree by a program of `python`, with more in its environment and more flags; waits until it
    is ready.
    """
    server = begun(tree, directory, stack, program, environment, etcd, python, flags)
    wait_until_ready(server, directory)
    return server


def begun(
    tree: Path,
    directory: Path,
    stack: ExitStack,
    program: Sequence[str] = ("-m", "gateway"),
    environment: Mapping[str, str] = MappingProxyType({}),
    etcd: str = "--embedded-etcd",
    python: str = sys.executable,
    flags: Sequence[str] = (),
) -> Server:
    """Like `serve`, without waiting."""
    directory.mkdir()
    tokens = directory / "tokens.csv"
    tokens.write_text(f"{TOKEN},admin,1,system:masters\n", encoding="ascii")
    port = free_port()
    process = subprocess.Popen(
        [
            python, *program, "serve", etcd, f"--secure-port={port}",
            "--bind-address=127.0.0.1", f"--token-auth-file={tokens}", f"--cert-dir={directory / 'certificates'}",
            "--disable-admission-plugins=ServiceAccount", *flags,
        ],
        cwd=tree,
        env={**os.environ, **environment, "PYTHONPATH": str(tree)},
        stderr=(directory / "log").open("wb"),
    )  # fmt: skip
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return Server(f"https://127.0.0.1:{port}", process.pid)


def wait_until_ready(server: Server, directory: Path) -> None:
    """Waits until a started server is ready; `directory` has its log."""
    for _ in range(2000):
        try:
            if asyncio.run(load.send(server.url, TOKEN, [("GET", "/readyz", b"")], 1)) == [200]:
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"{server.url} did not serve: {(directory / 'log').read_text()[-2000:]}")


Sent = tuple[str, str, bytes]


@dataclass(frozen=True, slots=True)
class Case:
    """What is sent in a slice; all of it has to succeed.

    `before` makes what is sent beforehand, outside the measurement; both are told the number of the slice.
    """

    name: str
    requests: Callable[[int], Iterable[Sent]]
    media_type: str = JSON
    accept: str = JSON
    before: Callable[[int], Iterable[Sent]] | None = None
    watched: int = 0  # by so many


def _body(obj: object) -> bytes:
    return json.dumps(obj).encode()


def _config_map(name: str) -> bytes:
    labels = {"app": "compare", "slice": name.rpartition("-")[0]}
    made = {"metadata": {"name": name, "labels": labels}, "data": {f"key{n}": "x" * 100 for n in range(5)}}
    return _body({"apiVersion": "v1", "kind": "ConfigMap", **made})


def _varied(name: str, number: int) -> dict[str, Any]:
    """A pod with a specification that was not sent before."""
    made = pod(name, number)
    made["spec"]["containers"][0]["args"] = [name]
    return made


def _applied(number: int) -> bytes:
    made = deployment()
    made["metadata"]["name"] = f"applied-{number % APPLIED}"
    made["spec"]["replicas"] = number % 7
    return _body(made)


def _merge(number: int) -> bytes:
    return _body({"metadata": {"annotations": {"tick": str(number)}}})


def _status(number: int) -> bytes:
    conditions = [{"type": "Ready", "status": "True", "message": str(number)}]
    return _body({"status": {"phase": "Running", "conditions": conditions}})


def cases(objects: int) -> list[Case]:
    """All cases. The names of created objects contain the slice."""
    pods, maps = f"{_COLLECTION}/pods", f"{_COLLECTION}/configmaps"

    def same(path: str, count: int) -> Callable[[int], list[Sent]]:
        return lambda number: [("GET", path, b"")] * count

    def creates(path: str, count: int, make: Callable[[str, int], bytes], word: str) -> Callable[[int], list[Sent]]:
        return lambda number: [("POST", path, make(f"{word}-{number}-{each}", each)) for each in range(count)]

    def patches(path: Callable[[int], str], count: int, make: Callable[[int], bytes]) -> Callable[[int], list[Sent]]:
        return lambda number: [("PATCH", path(each), make(number * count + each)) for each in range(count)]

    def a_pod(index: int) -> str:
        return f"{pods}/pod-{index % objects:06d}"

    make_map = creates(maps, 60, lambda name, _: _config_map(name), "gone")
    return [
        Case("GET rv=0", same(f"{pods}/pod-000001?resourceVersion=0", 300)),
        Case("GET consistent", same(f"{pods}/pod-000001", 200)),
        Case("LIST limit=500", same(f"{pods}?limit=500", 40)),
        Case("LIST of all, rv=0", same(f"{pods}?resourceVersion=0", 8)),
        Case("LIST by label, rv=0", same(f"{pods}?resourceVersion=0&labelSelector=app%3Da3", 40)),
        Case("LIST as Table, rv=0", same(f"{pods}?resourceVersion=0", 8), accept=TABLE),
        Case("LIST of metadata in protobuf, rv=0", same(f"{pods}?resourceVersion=0", 8), accept=METADATA),
        Case("create ConfigMap", creates(maps, 100, lambda name, _: _config_map(name), "map")),
        Case("create pod", creates(f"{pods}", 60, lambda name, n: _body(pod(name, n)), "new")),
        *(
            Case(f"create safe pod{where}", creates(
                f"/api/v1/namespaces/{place}/pods", 60, lambda name, _: _body(safe_pod(name)), "safe"
            ))
            for where, place in (("", NAMESPACE), (", guarded", GUARDED), (", with quota", COUNTED))
        ),
        Case("create varied pod", creates(f"{pods}", 60, lambda name, n: _body(_varied(name, n)), "varied")),
        Case("merge patch pod", patches(a_pod, 60, _merge), media_type="application/merge-patch+json"),
        Case("patch status", patches(lambda n: f"{a_pod(n)}/status", 60, _status),
             media_type="application/merge-patch+json"),
        Case("apply, changed", patches(lambda n: _APPLIED % n, APPLIED, _applied),
             media_type="application/apply-patch+yaml"),
        Case("delete ConfigMap", lambda number: [
            ("DELETE", f"{maps}/gone-{number}-{each}", b"") for each in range(60)
        ], before=make_map),
        Case("watched create", creates(maps, WRITES, lambda name, _: _config_map(name), "seen"), watched=WATCHERS),
    ]  # fmt: skip


@dataclass(slots=True)
class Clients:
    """Persistent connections to one server."""

    server: Server
    free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = field(default_factory=list)

    async def send(self, requests: Iterable[Sent], media_type: str = JSON, accept: str = JSON) -> int:
        """Sends all requests. Returns their number."""
        while len(self.free) < CONNECTIONS:
            self.free.append(await load.connect(self.server.url))
        left = iter(list(requests))
        return sum(await asyncio.gather(*(_worker(*each, left, media_type, accept) for each in self.free)))

    async def watch(self, path: str) -> asyncio.Task[int]:
        """An open watch. Returns the number of its events when it is cancelled."""
        reader, writer = await load.connect(self.server.url)
        writer.write(_head("GET", path))
        await reader.readuntil(b"\r\n\r\n")
        return asyncio.create_task(_watched(reader, writer))


def _head(method: str, path: str, more: str = "", accept: str = JSON) -> bytes:
    said = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nAccept: {accept}\r\n"
    return f"{said}{more}\r\n".encode()


async def _worker(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: Iterator[Sent], media_type: str, accept: str
) -> int:
    count = 0
    for method, path, body in left:
        more = f"Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\n" if body else ""
        writer.write(_head(method, path, more, accept) + body)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if b"\r\ncontent-length: " in head:
            answer = await reader.readexactly(int(head.partition(b"\r\ncontent-length: ")[2].partition(b"\r\n")[0]))
        else:
            answer = b""
            while size := int((await reader.readline()).strip() or b"0", 16):
                answer = (await reader.readexactly(size + 2))[:-2]
            await reader.readline()
        if head.split()[1][:1] != b"2":
            raise SystemExit(f"{method} {path}: {head.decode()}{answer[:500].decode()}")
        count += 1
    return count


async def _watched(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    seen = 0
    try:
        while seen < WRITES and (line := await reader.readline()):
            seen += line.startswith(b'{"type":"ADDED"')
    finally:
        writer.close()
    return seen


async def one_slice(case: Case, clients: Clients, number: int) -> float:
    """Microseconds of the server's CPU per request, or per event of a watch."""
    if case.before is not None:
        await clients.send(case.before(number))
    watches = []
    if case.watched:
        path = f"{_COLLECTION}/configmaps?watch=1&timeoutSeconds=60&labelSelector=slice%3Dseen-{number}"
        watches = [await clients.watch(path) for _ in range(case.watched)]
    begun = clients.server.cpu()
    count = await clients.send(case.requests(number), case.media_type, case.accept)
    if watches:
        count = sum(await asyncio.gather(*watches))
    return (clients.server.cpu() - begun) / count / 1000


async def compare(case: Case, both: tuple[Clients, Clients], rounds: int) -> tuple[list[float], list[float]]:
    """Microseconds by round, of both servers."""
    before, after = list[float](), list[float]()
    for number in range(-1, rounds):
        took: dict[int, float] = {0: 0.0, 1: 0.0}
        for turn, which in enumerate((0, 1, 1, 0)):
            took[which] += await one_slice(case, both[which], (number + 1) * 4 + turn) / 2
        if number >= 0:  # the first one warms up
            before.append(took[0])
            after.append(took[1])
    return before, after


async def fill(clients: Clients, objects: int) -> None:
    namespace = _body({"metadata": {"name": NAMESPACE}})
    await clients.send([("POST", "/api/v1/namespaces", namespace)])
    for path, body in (*guards(GUARDED), *guards(COUNTED), quota(COUNTED)):
        await clients.send([("POST", path, _body(body))])
    made = (("POST", f"{_COLLECTION}/pods", _body(pod(f"pod-{n:06d}", n))) for n in range(objects))
    await clients.send(made)


async def run(options: argparse.Namespace, servers: tuple[Server, Server]) -> dict[str, dict[str, float]]:
    both = Clients(servers[0]), Clients(servers[1])
    for each in both:
        await fill(each, options.objects)
    found: dict[str, dict[str, float]] = {}
    columns = f"{'before':>10s}{'after':>10s}{'ratio':>8s}{'least':>8s}  quartiles"
    print(f"{'microseconds of CPU, medians':28s}{columns}", flush=True)
    for case in cases(options.objects):
        if options.only and not any(word in case.name for word in options.only.split(",")):
            continue
        before, after = await compare(case, both, options.rounds)
        ratios = sorted(mine / theirs for theirs, mine in zip(before, after, strict=True))
        low, middle, high = statistics.quantiles(ratios, n=4)
        one, other, least = statistics.median(before), statistics.median(after), min(after) / min(before)
        shown = f"{middle:8.3f}{least:8.3f}  {low:.3f} to {high:.3f}"
        print(f"{case.name:28s}{one:10.1f}{other:10.1f}{shown}", flush=True)
        found[case.name] = {"before": one, "after": other, "ratio": middle, "least": least}
    means = (statistics.geometric_mean([each[column] for each in found.values()]) for column in ("ratio", "least"))
    print(f"{'geometric mean':48s}" + "".join(f"{mean:8.3f}" for mean in means))
    return found


def slower(found: Mapping[str, Mapping[str, float]], limit: float) -> list[str]:
    """The cases above the limit. The median and the least of all rounds have to agree: others use the caches too."""
    return [name for name, each in found.items() if min(each["ratio"], each["least"]) > limit]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--only", default="", help="words, separated by commas; a case whose name has one is measured")
    parser.add_argument("--limit", type=float, default=LIMIT, help="the ratio above which a case is too slow")
    parser.add_argument("--json", type=Path, help="write what was measured here, too")
    options = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        trees = options.before.resolve(), options.after.resolve()
        servers = [serve(tree, directory / str(number), stack) for number, tree in enumerate(trees)]
        found = asyncio.run(run(options, (servers[0], servers[1])))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="ascii")
    if slow := slower(found, options.limit):
        sys.exit(f"more than {options.limit} of the CPU before: {', '.join(slow)}")


if __name__ == "__main__":
    main()
