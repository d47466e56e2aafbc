"""Compressed lists: 5 000 pods as gzip, one request after the other, and after each change of one of them.

    python -m tests.benchmarks.gzipped [--pods 5000] [--times 20] [--beside URL,TOKEN,PID] [--keep]

The first requests are told apart from the later ones: what was compressed for them may be kept. One connection asks,
and reads without unpacking. `changed` has a pod changed before each request. The server is started here, on an etcd of
its own; another one, as a kube-apiserver, is measured after it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from dataclasses import dataclass

from tests.benchmarks import load
from tests.benchmarks.fanout import Server
from tests.benchmarks.kept import Row, keep
from tests.benchmarks.stages import nanoseconds

NAMESPACE = "gzipped"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
_MERGE = "Content-Type: application/merge-patch+json\r\n"
_GZIP = "Accept: application/json\r\nAccept-Encoding: gzip\r\n"


@dataclass(frozen=True, slots=True)
class Asked:
    """What requests took, in seconds: of the client's clock, and of the server's CPU; the bytes of the last answer."""

    waited: list[float]
    spent: list[float]
    size: int


def _pod(number: int) -> bytes:
    container = {
        "name": "c",
        "image": "nginx:1.25",
        "env": [{"name": f"E{each}", "value": "v" * 20} for each in range(6)],
    }
    metadata = {"name": f"pod-{number:06d}", "labels": {"app": f"a{number % 10}"}, "annotations": {"note": "x" * 600}}
    spec = {"containers": [container | {"name": f"c{each}"} for each in range(2)]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}).encode()


class Client:
    """One connection that requests lists as gzip."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def connect(self) -> None:
        self._reader, self._writer = await load.connect(self._server.url)

    async def ask(self, method: str, path: str, headers: str = "", body: bytes = b"") -> tuple[bytes, int]:
        """The head of the answer, and the size of its body as it was sent."""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._server.token}\r\n{headers}"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        return answer, await load.read_body(self._reader, answer)


async def _lists(client: Client, server: Server, times: int, query: str, changing: bool) -> Asked:
    waited, spent, size = [], [], 0
    for number in range(times):
        if changing:
            patch = json.dumps({"metadata": {"annotations": {"tick": f"{time.monotonic()}"}}}).encode()
            await client.ask("PATCH", f"{PODS}/pod-{number:06d}", _MERGE, patch)
        cpu, began = sum(nanoseconds(server.pid)), time.monotonic()
        answer, size = await client.ask("GET", f"{PODS}{query}", _GZIP)
        waited.append(time.monotonic() - began)
        spent.append((sum(nanoseconds(server.pid)) - cpu) / 1e9)
        assert b" 200 " in answer.partition(b"\r\n")[0] and b"content-encoding: gzip" in answer, answer
    return Asked(waited, spent, size)


async def measure(server: Server, pods: int, times: int) -> dict[str, Asked]:
    """All cases of one server, by name; prints a line for each."""
    made = json.dumps({"metadata": {"name": NAMESPACE}}).encode()
    await load.send(server.url, server.token, [("POST", "/api/v1/namespaces", made)], 1)
    codes = await load.send(server.url, server.token, [("POST", PODS, _pod(each)) for each in range(pods)], 8)
    assert set(codes) <= {201, 409}, set(codes)  # the peer may have them from before
    client = Client(server)
    await client.connect()
    found = {}
    for name, query, changing in (
        ("all", "?resourceVersion=0", False),
        ("all, changed", "?resourceVersion=0", True),
        ("500", "?limit=500", False),
        ("500, changed", "?limit=500", True),
    ):
        asked = found[name] = await _lists(client, server, times, query, changing)
        first = " ".join(f"{1000 * each:7.1f}" for each in asked.waited[:3])
        later, cpu = (1000 * statistics.median(each[3:]) for each in (asked.waited, asked.spent))
        said = f"first {first} ms, then {later:7.1f} ms, CPU {cpu:7.1f} ms"
        print(f"{server.name:10s}{name:14s} {said}, {asked.size:9d} bytes")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--beside", metavar="URL,TOKEN,PID", help="another server, as a kube-apiserver")
    parser.add_argument("--keep", action="store_true", help="keep the rows for docs/performance/measurements.md")
    options = parser.parse_args()
    from apiserver_gateway.testing import api_server

    with api_server("--disable-admission-plugins=ServiceAccount") as api:
        ours = asyncio.run(measure(Server("gateway", api.url, api.token, api.pid), options.pods, options.times))
    other = None
    if options.beside:
        url, token, pid = options.beside.split(",")
        other = asyncio.run(measure(Server("beside", url, token, int(pid)), options.pods, options.times))
    if options.keep:
        said = f"one client on the same cores, load {os.getloadavg()[0]:.1f}"
        keep(_rows(ours, other, options.pods), f"`tests.benchmarks.gzipped`, {said}")


def _rows(ours: dict[str, Asked], other: dict[str, Asked] | None, pods: int) -> list[Row]:
    def later(asked: Asked) -> float:
        return 1000 * statistics.median(asked.waited[3:])

    name = "kube-apiserver" if other else ""
    return [
        Row(
            "Lists as gzip", f"{pods} pods: {case}", later(asked), "ms", name, later(other[case]) if other else None,
            at_most=1.0, limits_ratio=True,
        )
        for case, asked in ours.items()
    ]  # fmt: skip


if __name__ == "__main__":
    main()
