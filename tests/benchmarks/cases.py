"""The cases that compare the gateway with a bare server, with its own etcd client, and custom objects with pods."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from tests.benchmarks import custom, load
from tests.benchmarks.bench import Bench, direct, serve, wait_for
from tests.benchmarks.objects import NAMESPACE, TOKEN, deployment, pod

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
    """Custom objects beside pods, beside the transaction, and beside a kube-apiserver (--peer).

    They are read by the same code as pods: what a single round finds between the two is the machine's.
    """
    seconds, api = bench.options.seconds, custom.Api(bench.ours, TOKEN)
    custom.fill(api, TOKEN, NAMESPACE, bench.options.objects // 5)
    path = custom.collection(NAMESPACE)
    sizes = [len(bench.fetch(url)) for url in (f"{bench.ours}{path}/gadget-000001", bench.pods("/pod-000001"))]
    lists = [len(bench.fetch(url)) for url in (f"{bench.ours}{path}?limit=500", bench.pods("?limit=500"))]
    bench.gadget_value = bench.fetch(f"{bench.ours}{path}/gadget-000001")

    def bytes_of(url: str, size: int) -> Callable[[], float]:
        return lambda: load.wrk(url, TOKEN, max(1, seconds // 4), 8) * size

    one, pod_one = f"{bench.ours}{path}/gadget-000001?resourceVersion=0", bench.pods("/pod-000001?resourceVersion=0")
    bench.record("GET gadget / pod, bytes", bytes_of(one, sizes[0]), bytes_of(pod_one, sizes[1]), times=5)
    some, some_pods = f"{bench.ours}{path}?limit=500", bench.pods("?limit=500")
    bench.record("LIST gadgets / pods, bytes", bytes_of(some, lists[0]), bytes_of(some_pods, lists[1]), times=5)
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


def definitions(bench: Bench, stack: ExitStack) -> None:
    """Five hundred CRDs, and what remains of a hundred that are created and deleted, on a server without other
    objects.
    """
    from storage.embedded import EmbeddedEtcd

    if bench.options.only and bench.options.only not in "definitions":
        return
    bench = replace(bench, etcd=stack.enter_context(EmbeddedEtcd(None)).endpoint)
    gateway, bench.ours = serve(bench, stack)
    wait_for(bench, f"{bench.ours}/readyz")

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
