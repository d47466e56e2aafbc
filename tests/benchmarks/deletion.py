"""Deletion at scale: a cascade, a namespace with all that is in it, and what the graph of owners costs.

    python -m tests.benchmarks.deletion URL TOKEN

measures any server, so that a kube-apiserver with its kube-controller-manager can be measured beside this one; `make
bench` measures this one, and the other where it is told of (`ARGS='--peer URL --peer-token TOKEN'`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import time
import tracemalloc
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.benchmarks import load

PAUSE = 0.1  # seconds between looks at what is left
PATIENCE = 600.0
GET_EVERY = 0.01

Body = tuple[str, str, bytes]


class Connection:
    """Sends one request after the other."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self._token = url, token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON of an answer."""
        if self._streams is None:
            self._streams = await load.connect(self.url)
        reader, writer = self._streams
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self._token}\r\n"
            f"Accept: application/json\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", answer, re.IGNORECASE)
        body = await (reader.readexactly(int(length[1])) if length else _chunks(reader))
        return int(answer.split()[1]), json.loads(body)


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    pieces = []
    while size := int(await reader.readline(), 16):
        pieces.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return b"".join(pieces)


@dataclass(frozen=True, slots=True)
class Gone:
    """The result of a deletion: its seconds, and the 99th percentile of the GETs meanwhile, in seconds."""

    seconds: float
    p99: float


async def _until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not await true():
        assert time.monotonic() < deadline, "it never came to an end"
        await asyncio.sleep(PAUSE)


async def _latencies(connection: Connection, path: str, found: list[float]) -> None:
    while True:
        began = time.monotonic()
        status, _ = await connection.ask("GET", path)
        assert status == 200, status
        found.append(time.monotonic() - began)
        await asyncio.sleep(GET_EVERY)


async def _timed(url: str, token: str, delete: Callable[[Connection], Any], over: Callable[[Connection], Any]) -> Gone:
    """Deletes something, waits until it is deleted, and measures GETs meanwhile."""
    connection, found = Connection(url, token), list[float]()
    looking = asyncio.create_task(_latencies(Connection(url, token), "/api/v1/namespaces/default", found))
    await asyncio.sleep(0.2)
    found.clear()
    began = time.monotonic()
    await delete(connection)
    await _until(lambda: over(connection))
    seconds = time.monotonic() - began
    looking.cancel()
    return Gone(seconds, sorted(found)[int(len(found) * 0.99)])


def _body(kind: str, namespace: str, name: str, **metadata: Any) -> Body:
    meta = {"name": name, **metadata}
    value = {"metadata": meta, "data": {"k": "eHh4eHh4eHh4"}}
    return "POST", f"/api/v1/namespaces/{namespace}/{kind}", json.dumps(value).encode()


async def _fill(url: str, token: str, bodies: list[Body]) -> None:
    codes = await load.send(url, token, bodies)
    assert set(codes) == {201}, f"creating objects answered {set(codes)}"


async def _namespace(connection: Connection) -> str:
    name = f"bench-{uuid.uuid4().hex[:8]}"
    status, _ = await connection.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    assert status == 201, status
    return name


async def cascade(url: str, token: str, dependents: int) -> Gone:
    """Deletes an owner in the background, and waits until all its dependents are deleted."""
    connection = Connection(url, token)
    space = await _namespace(connection)
    path = f"/api/v1/namespaces/{space}/configmaps"
    _, owner = await connection.ask("POST", path, {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    await _fill(
        url,
        token,
        [_body("secrets", space, f"d-{each}", ownerReferences=[reference]) for each in range(dependents)],
    )

    async def over(asking: Connection) -> bool:
        _, left = await asking.ask("GET", f"/api/v1/namespaces/{space}/secrets?limit=1")
        return not left["items"]

    gone = await _timed(url, token, lambda asking: asking.ask("DELETE", f"{path}/owner"), over)
    await Connection(url, token).ask("DELETE", f"/api/v1/namespaces/{space}")
    return gone


async def namespace(url: str, token: str, objects: int) -> Gone:
    """Deletes a namespace, and waits until it is deleted."""
    space = await _namespace(Connection(url, token))
    kinds = ("configmaps", "secrets")
    await _fill(url, token, [_body(kinds[each % 2], space, f"o-{each}") for each in range(objects)])
    path = f"/api/v1/namespaces/{space}"

    async def over(asking: Connection) -> bool:
        return (await asking.ask("GET", path))[0] == 404

    return await _timed(url, token, lambda asking: asking.ask("DELETE", path), over)


async def collection(url: str, token: str, objects: int) -> Gone:
    """Deletes a collection."""
    asking = Connection(url, token)
    space = await _namespace(asking)
    path = f"/api/v1/namespaces/{space}/secrets"
    await _fill(url, token, [_body("secrets", space, f"o-{each}") for each in range(objects)])

    async def over(asking: Connection) -> bool:
        return not (await asking.ask("GET", f"{path}?limit=1"))[1]["items"]

    gone = await _timed(url, token, lambda asking: asking.ask("DELETE", path), over)
    await Connection(url, token).ask("DELETE", f"/api/v1/namespaces/{space}")
    return gone


# what is deleted, how much of it, and how much of it at least in a second
CASES = {
    "cascade over 10000 dependents": (cascade, 10_000),
    "namespace of 20000 objects": (namespace, 20_000),
    "deletecollection of 10000 objects": (collection, 10_000),
}
LEAST = {
    "cascade over 10000 dependents": 1000.0,
    "namespace of 20000 objects": 20_000 / 60,
    "deletecollection of 10000 objects": 500.0,
}


def graph_megabytes(objects: int) -> float:
    """The garbage collector's memory for objects of which ten each have one owner, without their keys."""
    from gateway.controllers.ownership import Graph, node_of
    from storage.entry import Entry, entry_of

    head = b'{"kind":"Secret","apiVersion":"v1",'

    def entry(number: int) -> Entry:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"web-{number // 10}", "controller": True}
        owner |= {"uid": str(uuid.UUID(int=number // 10)), "blockOwnerDeletion": True}
        meta = {"name": f"web-{number}", "namespace": "n", "uid": str(uuid.UUID(int=objects + number))}
        value = json.dumps({"metadata": {**meta, "ownerReferences": [owner]}}, separators=(",", ":")).encode()
        return entry_of(f"/registry/secrets/n/web-{number}".encode(), head + value[1:] + b" \n", 7, head)

    entries, graph = [entry(number) for number in range(objects)], Graph()
    tracemalloc.start()
    for each in entries:
        node = node_of(b"/registry/secrets/", each)
        assert node is not None
        graph.put(node)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / (1 << 20)


def report(ours: tuple[str, str], peer: tuple[str, str], only: str) -> None:
    """Prints what is deleted a second, beside the peer where it has a URL, and the least that is allowed."""
    for name, (case, count) in CASES.items():
        if only and only not in name:
            continue
        found = [asyncio.run(case(*server, count)) for server in (ours, peer) if server[0]]
        rates = [count / each.seconds for each in found]
        beside = f"{rates[1]:12.1f}{rates[0] / rates[1]:8.2f}" if len(rates) > 1 else f"{'':20s}"
        p99 = ", ".join(f"{each.p99 * 1000:.0f} ms" for each in found)
        mark = "" if rates[0] >= LEAST[name] else "   below"
        print(f"{name:54s}{rates[0]:12.1f}{beside}{LEAST[name]:8.0f}{mark}   GET p99 {p99}", flush=True)
    if not only or only in "graph":
        print(f"graph of 100000 objects: {graph_megabytes(100_000):.0f} MB, 100 are allowed", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("token")
    options = parser.parse_args()
    for name, (case, count) in CASES.items():
        gone = asyncio.run(case(options.url, options.token, count))
        rate = count / gone.seconds
        print(f"{name}: {gone.seconds:.1f} s, {rate:.0f}/s, GET p99 {gone.p99 * 1000:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
