"""The memory of a server after a start in front of many objects, of a few very large ones, and of many definitions.

    python -m tests.benchmarks.resident [--only pods|large|written|definitions] [--settled 60] [--keep]

The objects are copies of one that a gateway has stored, written into etcd; then a gateway is started on it. `written`
has the same large objects as `large`, but they are created at the running server. After a minute, in which the heap is
trimmed, the memory is read again. It is the server's own memory: without what it shares with others, such as libraries
(20 MB). `definitions` asks for the OpenAPI documents, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.benchmarks import load
from tests.benchmarks.compare import Server, begun, serve, wait_until_ready
from tests.benchmarks.early import ask
from tests.benchmarks.kept import Row, keep
from tests.benchmarks.million import memory, put_all
from tests.benchmarks.objects import TOKEN

GROUP = "Memory of a server"
NAME = "resident-0"
DOCUMENTS = ("/openapi/v2", "/openapi/v3")
_UID = re.compile(rb'"uid":"[^"]+"')

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """Objects, the limits of their memory in MB, and of the CPU seconds of a start."""

    name: str
    path: str  # at which they are created
    key: str  # below which they are stored
    count: int
    make: Callable[[str], Json]
    at_start: float
    settled: float
    cpu: float | None = None
    documents: bool = False
    at_once: int = 100  # objects of a transaction


def pod(name: str) -> Json:
    """A pod of about 4 KB."""
    containers = [
        {"name": f"c{n}", "image": "nginx:1.25", "env": [{"name": f"E{k}", "value": "v" * 40} for k in range(8)]}
        for n in range(2)
    ]
    metadata = {"name": name, "labels": {"app": "a1"}, "annotations": {"note": "x" * 200}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}}


def large(name: str) -> Json:
    """A pod of 1.4 MB."""
    made = pod(name)
    made["spec"]["containers"][0]["args"] = ["x" * 1_400_000]
    return made


def definition(name: str) -> Json:
    """A definition of some fields."""
    word = name.replace("-", "")
    texts: Json = {f"field{n}": {"type": "string", "description": "what it means"} for n in range(20)}
    spec = {"type": "object", "properties": texts}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {"plural": f"{word}s", "singular": word, "kind": word.capitalize(), "listKind": f"{word.capitalize()}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{word}s.{word}.example.org"},
        "spec": {"group": f"{word}.example.org", "scope": "Namespaced", "names": names, "versions": [version]},
    }


_PODS = ("/api/v1/namespaces/default/pods", "/registry/pods/default/")
CASES = {
    "pods": Case("100,000 pods of 4 KB", *_PODS, 100_000, pod,
                 700, 500),
    "large": Case("300 pods of 1.4 MB", *_PODS, 300, large, 700, 520, at_once=1),
    "written": Case("300 pods of 1.4 MB, written to the server", *_PODS, 300, large, 700, 520),
    "definitions": Case("3,000 definitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                        "/registry/apiextensions.k8s.io/customresourcedefinitions/", 3000, definition, 400, 400, 8,
                        documents=True),
}  # fmt: skip


async def _stored(etcd: str, key: bytes) -> tuple[bytes, bytes]:
    async with EtcdClient(EtcdSettings((etcd,), timeout=60)) as client:
        found = (await client.range(key, key[:-1] + b"0")).kvs
        return found[-1].key, found[-1].value


def copies(key: bytes, value: bytes, count: int) -> Iterator[tuple[bytes, bytes]]:
    """Copies of a stored object with other names and uids; their names have the same length."""
    word = NAME.encode()
    for each, plain in ((word, False), (word.replace(b"-", b""), True)):
        if each in key:
            for number in range(1, count):
                name = b"resident%d" % number if plain else b"resident-%d" % number
                other = value.replace(each, name).replace(each.capitalize(), name.capitalize())
                yield key.replace(each, name), _UID.sub(b'"uid":"%b"' % str(uuid4()).encode(), other)


def create(server: Server, case: Case, count: int) -> None:
    """Creates objects at the server."""
    for number in range(count):
        made = json.dumps(case.make(f"resident-{number}")).encode()
        codes = asyncio.run(load.send(server.url, TOKEN, [("POST", case.path, made)], 1))
        assert codes == [201], codes


def measure(case: Case, written: bool, settled: float) -> list[Row]:
    """Measures one case; its rows."""
    rows: list[Row] = []

    def row(what: str, value: float, unit: str = "MB", most: float | None = None) -> None:
        rows.append(Row(GROUP, f"{case.name}: {what}", value, unit, at_most=most))
        print(f"{rows[-1].case:76s}{value:10.1f} {unit}{'' if rows[-1].holds else '   not kept'}", flush=True)

    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory()))
        etcd = stack.enter_context(EmbeddedEtcd(directory / "etcd", loopback=True)).endpoint
        with ExitStack() as before:
            first = serve(Path.cwd(), directory / "before", before, etcd=f"--etcd-servers={etcd}")
            if not written:
                time.sleep(3)
                create(first, case, 1)
                time.sleep(2)  # conditions of a definition
        if not written:
            made = copies(*asyncio.run(_stored(etcd, case.key.encode())), case.count)
            asyncio.run(put_all(etcd, made, operations=case.at_once))
        began = time.monotonic()
        server = begun(Path.cwd(), directory / "server", stack, etcd=f"--etcd-servers={etcd}")
        wait_until_ready(server, directory / "server")
        if written:
            create(server, case, case.count)
        else:
            row("ready", time.monotonic() - began, "s")
            row("CPU of the start", server.cpu() / 1e9, "s", case.cpu)
        found = memory(server)
        row("memory after it", found.own / 1e6, most=case.at_start)
        row("peak of the resident memory", found.peak / 1e6)
        if case.documents:
            for path in DOCUMENTS:
                status, body = ask(server.url, path)
                assert status == 200
            for name in list(json.loads(body)["paths"]):
                assert ask(server.url, f"/openapi/v3/{name}")[0] == 200
            row("memory after all OpenAPI documents", memory(server).own / 1e6, most=case.settled)
        time.sleep(settled)
        row(f"memory {settled:.0f} s later", memory(server).own / 1e6, most=case.settled)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=CASES, action="append")
    parser.add_argument("--settled", type=float, default=60.0, help="seconds until the memory is read again")
    parser.add_argument("--keep", action="store_true", help="write the rows for docs/performance/measurements.md")
    options = parser.parse_args()
    os.environ |= {
        "ETCD_QUOTA_BACKEND_BYTES": str(8 << 30),
        "ETCD_MAX_TXN_OPS": "500",
        "ETCD_MAX_REQUEST_BYTES": "4000000",
    }
    rows = [row for name in options.only or CASES for row in measure(CASES[name], name == "written", options.settled)]
    if options.keep:
        keep(rows, f"`python -m tests.benchmarks.resident`, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
