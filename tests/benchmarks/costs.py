"""What a gateway spends on each thing that a cluster does: CPU of its process, and memory.

    python -m tests.benchmarks.costs [--json hack/costs.json] [--objects 5000] [--rounds 7]

The least of the rounds is taken, as what the work takes where nobody else uses the caches. `hack/simulate.py` makes
clusters of these.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from storage.keys import prefix_end
from tests.benchmarks.compare import Case, Clients, Sent, Server, cases, fill, one_slice, serve
from tests.benchmarks.objects import NAMESPACE

WATCHED = 60  # watches of one resource, for what each event costs more
WATCHES = 1000  # open at once, for the memory of each
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
NEEDED = ("GET rv=0", "LIST of all, rv=0", "create pod", "patch status")


def renewals() -> Case:
    """Creates Leases and renews each, like kubelets; by a patch, which costs more than the kubelets' PUT."""

    def creates(number: int) -> Iterable[Sent]:
        for index in range(100):
            kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
            spec = {"holderIdentity": f"n-{index}", "leaseDurationSeconds": 40}
            yield (
                "POST",
                LEASES,
                json.dumps({**kind, "metadata": {"name": f"n-{number}-{index}"}, "spec": spec}).encode(),
            )

    def renewed(number: int) -> Iterable[Sent]:
        body = json.dumps({"spec": {"renewTime": "2026-01-01T00:00:00.000000Z"}}).encode()
        return [("PATCH", f"{LEASES}/n-{number}-{index}", body) for index in range(100)]

    return Case("renew lease", renewed, media_type="application/merge-patch+json", before=creates)


def memory(server: Server) -> int:
    """The private memory of the gateway's process in bytes."""
    text = Path(f"/proc/{server.pid}/smaps_rollup").read_text(encoding="ascii")
    return sum(int(found) for found in re.findall(r"Private_\w+: +(\d+) kB", text)) * 1024


async def least(case: Case, clients: Clients, rounds: int) -> float:
    """Microseconds of CPU per request, the least of several rounds."""
    return min([await one_slice(case, clients, number) for number in range(rounds + 1)][1:])


async def of_event(clients: Clients, rounds: int) -> float:
    """Microseconds of CPU for each event that one more watch gets."""
    made = next(case for case in cases(1) if case.name == "watched create")
    few = [await one_slice(_watched_by(made, 1), clients, number) for number in range(rounds)]
    many = [await one_slice(_watched_by(made, WATCHED), clients, rounds + number) for number in range(rounds)]
    return max(0.0, (min(many) * WATCHED - min(few)) / (WATCHED - 1))


def _watched_by(case: Case, watched: int) -> Case:
    return Case(case.name, case.requests, watched=watched)


async def of_change(clients: Clients, endpoint: str, rounds: int, count: int = 500) -> float:
    """Microseconds of CPU for a change that another gateway has written."""
    found = []
    async with EtcdClient(EtcdSettings((endpoint,))) as client:
        prefix = f"/registry/pods/{NAMESPACE}/".encode()
        stored = (await client.range(prefix, prefix_end(prefix), limit=count)).kvs
        for _ in range(rounds):
            begun = clients.server.cpu()
            made = await asyncio.gather(*(client.put(each.key, each.value) for each in stored))
            last = max(each.revision for each in made)
            seen = f"{PODS}?limit=1&resourceVersionMatch=NotOlderThan&resourceVersion={last}"
            await clients.send([("GET", seen, b"")])  # answered when all have come
            found.append((clients.server.cpu() - begun) / len(stored) / 1000)
    return min(found)


async def of_watch(clients: Clients) -> float:
    """Bytes of memory per open watch."""
    before = memory(clients.server)
    path = f"{PODS}?watch=1&timeoutSeconds=600&fieldSelector=metadata.name%3Dpod-"
    watches = [await clients.watch(f"{path}{index:06d}") for index in range(WATCHES)]
    await clients.send([("GET", f"{PODS}/pod-000001", b"")] * 20)
    used = memory(clients.server) - before
    for watch in watches:
        watch.cancel()
    await asyncio.gather(*watches, return_exceptions=True)
    return used / WATCHES


async def _stored_size(endpoint: str) -> int:
    """The size of a pod in etcd, in bytes."""
    async with EtcdClient(EtcdSettings((endpoint,))) as client:
        return len((await client.range(f"/registry/pods/{NAMESPACE}/pod-000001".encode())).kvs[0].value)


async def measure(server: Server, endpoint: str, objects: int, rounds: int) -> dict[str, float]:
    """All of it: microseconds, bytes."""
    clients = Clients(server)
    empty = memory(server)
    await fill(clients, objects)
    await asyncio.sleep(2)  # for what writes leave to be done, of whose end nothing tells
    size = await _stored_size(endpoint)
    found = {"process, bytes": empty, "object, bytes beside its JSON": (memory(server) - empty) / objects - size}
    found["watch, bytes"] = await of_watch(clients)
    for case in [*(case for case in cases(objects) if case.name in NEEDED), renewals()]:
        found[f"{case.name}, us"] = await least(case, clients, rounds)
    found["event told, us"] = await of_event(clients, rounds)
    found["change of others, us"] = await of_change(clients, endpoint, rounds)
    return {name: round(value, 1) for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write what was measured here, too")
    options = parser.parse_args()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        etcd = stack.enter_context(EmbeddedEtcd(loopback=True))
        server = serve(Path.cwd(), directory / "server", stack, etcd=f"--etcd-servers={etcd.endpoint}")
        found = asyncio.run(measure(server, etcd.endpoint, options.objects, options.rounds))
    text = json.dumps(found, indent=1) + "\n"
    print(text, end="")
    if options.json:
        options.json.write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
