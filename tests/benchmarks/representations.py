"""Lists and watches in other representations than JSON, beside those in JSON.

"first" is the first list in a representation, in MB of source JSON a second; "warm" is in bytes a second, of what is
sent each time.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable

from tests.benchmarks import load
from tests.benchmarks.bench import Bench

PROTOBUF = "application/vnd.kubernetes.protobuf"
META = "g=meta.k8s.io;v=v1"
ACCEPTS = {
    "protobuf": PROTOBUF,
    "Table": f"application/json;as=Table;{META}",
    "PartialObjectMetadata": f"application/json;as=PartialObjectMetadataList;{META}",
    "PartialObjectMetadata in protobuf": f"{PROTOBUF};as=PartialObjectMetadataList;{META}",
}
FIRST, WARM, WATCH = 40.0, 0.6, 0.8  # what is aimed at
MEGABYTE = 1e6


def lists(bench: Bench) -> None:
    """Lists of all pods."""
    url, seconds = bench.pods("?resourceVersion=0"), bench.options.seconds
    source = len(bench.fetch(url))
    sizes = {}
    for name, accept in ACCEPTS.items():
        began = time.monotonic()
        sizes[name] = len(bench.fetch(url, accept))
        bench.show(f"LIST as {name}, first, MB/s", source / MEGABYTE / (time.monotonic() - began), None, FIRST)

    def rate(size: int, accept: str = "application/json") -> Callable[[], float]:
        return lambda: load.wrk(url, bench.token, seconds, 4, accept=accept) * size / MEGABYTE

    for name, accept in ACCEPTS.items():
        bench.record(f"LIST as {name}, warm / JSON", rate(sizes[name], accept), rate(source), WARM)


def watches(bench: Bench, watchers: int = 200, events: int = 200) -> None:
    """The events a second that all watchers get."""

    def fan_out(accept: str, marker: bytes) -> float:
        word = f"w{random.randrange(1 << 30)}"
        path = f"/api/v1/namespaces/{bench.namespace}/configmaps"
        bodies = [("POST", path, json.dumps(_config_map(f"{word}-{i}", word)).encode()) for i in range(events)]

        async def write() -> None:
            await load.send(bench.ours, bench.token, bodies, 8)

        query = f"?watch=1&timeoutSeconds=120&labelSelector=bench%3D{word}"
        return asyncio.run(load.fan_out(bench.ours, path + query, bench.token, watchers, events, marker, write, accept))

    bench.record(
        "WATCH in protobuf, 200 watchers x 200 events / JSON",
        lambda: fan_out(PROTOBUF, b"\x0a\x05ADDED"),
        lambda: fan_out("application/json", b'"type":"ADDED"'),
        WATCH,
    )


def _config_map(name: str, word: str) -> dict[str, object]:
    metadata = {"name": name, "labels": {"bench": word}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "x" * 500}}
