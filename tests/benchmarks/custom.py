"""Custom resources under load: objects with rules beside pods, and what five hundred definitions take."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import statistics
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks import load

GROUP = "bench.example.com"
MANY, CHURN, ROUNDS = 500, 100, 4
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RULES = (
    {"rule": "self.replicas >= 0 && self.replicas <= self.limit", "message": "between 0 and the limit"},
    {"rule": "self.names.all(name, name.startsWith('n'))"},
    {"rule": "self.text0.size() < 640 && self.text1 != self.text2"},
)
LIMITS = {
    "seconds until 500 definitions are served": 60.0,
    "seconds until a server with 500 definitions is ready": 3.0,
    "milliseconds for discovery of 500 definitions": 100.0,
    "milliseconds for the OpenAPI v3 index of 500 definitions": 100.0,
    "milliseconds for one OpenAPI v3 document": 50.0,
    "resident MB with 500 definitions": 200.0,
    "MB that 100 more definitions leave behind": 6.0,  # as history, which is bounded
}


def definition(group: str = GROUP, *, rules: bool = True) -> dict[str, Any]:
    """Gadgets: 30 properties and three rules."""
    text = {"type": "string", "maxLength": 1000}
    members: dict[str, Any] = {f"text{n}": text for n in range(20)}
    members |= {f"number{n}": {"type": "integer", "minimum": 0} for n in range(6)}
    members |= {"replicas": {"type": "integer"}, "limit": {"type": "integer"}, "on": {"type": "boolean"}}
    members["names"] = {"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 50}}
    spec: dict[str, Any] = {"type": "object", "required": ["replicas", "limit", "names"], "properties": members}
    if rules:
        spec["x-kubernetes-validations"] = list(RULES)
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [version],
        },
    }


def gadget(name: str) -> dict[str, Any]:
    """A gadget with the size of the pods, so that both have the same bytes per request."""
    spec: dict[str, Any] = {f"text{n}": f"{n} {'x' * 80}" for n in range(20)} | {f"number{n}": n for n in range(6)}
    spec |= {"replicas": 3, "limit": 10, "on": True, "names": [f"n{n}" for n in range(10)]}
    metadata = {"name": name, "labels": {"app": "a1"}, "annotations": {"note": "x" * 1190}}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": metadata, "spec": spec}


class Api:
    """A server that gets one request after another."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self._token = url, token
        self._context = ssl._create_unverified_context()

    def ask(self, method: str, path: str, body: Any = None, accept: str = "application/json") -> bytes:
        """The answer's body; raises urllib.error.HTTPError."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        for name, value in (("Authorization", f"Bearer {self._token}"), ("Accept", accept)):
            request.add_header(name, value)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, context=self._context, timeout=60) as answer:
            return bytes(answer.read())

    def until_served(self, path: str, patience: float = 60.0) -> None:
        """Waits until a path is served."""
        end = time.monotonic() + patience
        while True:
            try:
                self.ask("GET", path)
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def milliseconds(self, path: str, accept: str = "application/json") -> float:
        """Milliseconds of a repeated request; the median of five."""
        self.ask("GET", path, accept=accept)
        taken = []
        for _ in range(5):
            begun = time.perf_counter()
            self.ask("GET", path, accept=accept)
            taken.append(time.perf_counter() - begun)
        return statistics.median(taken) * 1000


def collection(namespace: str, group: str = GROUP) -> str:
    return f"/apis/{group}/v1/namespaces/{namespace}/gadgets"


def fill(api: Api, token: str, namespace: str, count: int) -> None:
    """Creates the CRD of gadgets, and some gadgets."""
    api.ask("POST", DEFINITIONS, definition())
    api.until_served(collection(namespace))
    bodies = [("POST", collection(namespace), json.dumps(gadget(f"gadget-{i:06d}")).encode()) for i in range(count)]
    codes = asyncio.run(load.send(api.url, token, bodies))
    assert set(codes) == {201}, f"creating gadgets answered {set(codes)}"


def watched(url: str, token: str, path: str, body: Callable[[str], bytes]) -> float:
    """Bytes a second that 100 watchers get for 200 new objects."""
    word = f"w{random.randrange(1 << 30)}"
    bodies = [("POST", path, body(f"{word}-{i}")) for i in range(200)]

    async def write() -> None:
        await load.send(url, token, bodies, 8)

    rate = asyncio.run(
        load.fan_out(
            url, f"{path}?watch=1&timeoutSeconds=120&resourceVersion=0&sendInitialEvents=false"
            "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", token, 100, 200, word.encode(), write,
        )
    )  # fmt: skip
    return rate * len(bodies[0][2])


def many(api: Api, start: Callable[[], tuple[float, float]], resident: Callable[[], float]) -> dict[str, float]:
    """The cost of 500 CRDs. `start` starts another server and returns seconds and MB."""
    found = dict[str, float]()
    begun = time.monotonic()
    groups = [f"g{n}.{GROUP}" for n in range(MANY)]
    for group in groups:
        api.ask("POST", DEFINITIONS, definition(group, rules=False))
    for group in groups:
        api.until_served(f"/apis/{group}/v1/gadgets")
    found["seconds until 500 definitions are served"] = time.monotonic() - begun
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    found["milliseconds for discovery of 500 definitions"] = api.milliseconds("/apis", aggregated)
    found["milliseconds for the OpenAPI v3 index of 500 definitions"] = api.milliseconds("/openapi/v3")
    found["milliseconds for one OpenAPI v3 document"] = api.milliseconds(f"/openapi/v3/apis/{groups[0]}/v1")
    found["resident MB with 500 definitions"] = resident()
    seconds, megabytes = start()
    found["seconds until a server with 500 definitions is ready"] = seconds
    found["resident MB with 500 definitions"] = megabytes
    for _ in range(2):  # with the first ones comes what serves all
        _churn(api)
    before = resident()
    for _ in range(ROUNDS):  # what is garbage by then is not collected with each
        _churn(api)
    found["MB that 100 more definitions leave behind"] = (resident() - before) / ROUNDS
    return found


def _churn(api: Api) -> None:
    """Creates and deletes CRDs, each with an object."""
    for n in range(CHURN):
        group = f"churn{n}.{GROUP}"
        api.ask("POST", DEFINITIONS, definition(group))
        api.until_served(f"/apis/{group}/v1/gadgets")
        body = {**gadget("one"), "apiVersion": f"{group}/v1"}
        api.ask("POST", collection("default", group), body)
        api.ask("GET", f"/openapi/v3/apis/{group}/v1")
    for n in range(CHURN):
        api.ask("DELETE", f"{DEFINITIONS}/gadgets.churn{n}.{GROUP}")
    end = time.monotonic() + 60
    while b"gadgets.churn" in api.ask("GET", DEFINITIONS) and time.monotonic() < end:
        time.sleep(0.1)


def resident_megabytes(process: subprocess.Popen[bytes]) -> float:
    """The resident memory of a process in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024
