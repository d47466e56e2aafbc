"""Writes pods straight into etcd at a pace, as another replica does; each write says when it was asked for.

    python -m tests.benchmarks.crowd_writer ETCD PREFIX RATE SECONDS URL TOKEN

Prints the number of changes. Values that are not JSON in etcd are taken from the server's API.
"""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import sys
import time
import urllib.request
from typing import Any

from storage.etcd import EtcdClient, EtcdSettings, prefix_end

AT_ONCE = 64
NOTE = b'"annotations":{'


def stamped(value: bytes, number: int) -> bytes:
    """A value with the time of a change."""
    return value.replace(NOTE, NOTE + b'"crowd":"%d-%d",' % (number, time.monotonic_ns()), 1)


def of_api(url: str, token: str) -> dict[str, bytes]:
    """All pods as the API shows them, by namespace and name, in a form that can be stored."""
    request = urllib.request.Request(f"{url}/api/v1/pods", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=60) as answer:
        items: list[dict[str, Any]] = json.load(answer)["items"]
    found = {}
    for item in items:
        del item["metadata"]["resourceVersion"]
        item["metadata"].pop("managedFields", None)
        key = f"{item['metadata']['namespace']}/{item['metadata']['name']}"
        found[key] = json.dumps({"kind": "Pod", "apiVersion": "v1", **item}, separators=(",", ":")).encode()
    return found


async def write(etcd: str, prefix: bytes, rate: float, seconds: float, url: str, token: str) -> int:
    """Makes the changes. Returns their number."""
    async with EtcdClient(EtcdSettings((etcd,), timeout=30)) as client:
        stored = (await client.range(prefix, prefix_end(prefix))).kvs
        values = {kv.key: kv.value for kv in stored if kv.value.startswith(b"{") and NOTE in kv.value}
        if not values:
            shown = of_api(url, token)
            values = {kv.key: shown["/".join(kv.key.decode().split("/")[-2:])] for kv in stored}
        keys, room, began, number = list(values), asyncio.Semaphore(AT_ONCE), time.monotonic(), 0
        tasks: set[asyncio.Task[object]] = set()
        while (now := time.monotonic()) < began + seconds:
            await asyncio.sleep(max(0.0, began + number / rate - now))
            await room.acquire()
            key = random.choice(keys)
            task = asyncio.create_task(client.put(key, stamped(values[key], number)))
            tasks.add(task)
            task.add_done_callback(lambda _: room.release())
            task.add_done_callback(tasks.discard)
            number += 1
        await asyncio.gather(*tasks)
        return number


if __name__ == "__main__":
    _, etcd, prefix, rate, seconds, url, token = sys.argv
    print(asyncio.run(write(etcd, prefix.encode(), float(rate), float(seconds), url, token)))
