"""What encryption at rest costs: secrets of two servers that differ in nothing but that etcd holds one's encrypted."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace

from storage.embedded import EmbeddedEtcd
from tests.benchmarks import load
from tests.benchmarks.allowed import requests_a_cpu_second
from tests.benchmarks.bench import Bench, serve, wait_for
from tests.benchmarks.cases import CREATE
from tests.benchmarks.objects import TOKEN
from tests.integration.encryption.etcd import by_key, configured
from tests.integration.server.test_processes import cpu_seconds

_PATH = "/api/v1/namespaces/default/secrets"
_ROWS = {
    "CREATE secret, encrypted / not, by CPU": 0.95,
    "GET secret, encrypted / not, by CPU": 0.97,
    "LIST limit=500 secrets, encrypted / not, by CPU": 0.97,
    "start with {} secrets, encrypted / not, by CPU": 0.67,  # at most 1.5 times
}


def secret(name: str) -> bytes:
    """A secret of about a kilobyte."""
    data = {f"key{n}": base64.b64encode(b"x" * 120).decode() for n in range(4)}
    return json.dumps({"metadata": {"name": name, "labels": {"app": "a"}}, "data": data}).encode()


def report(bench: Bench, stack: ExitStack) -> None:
    """Fills two etcds through two servers, then compares the starts and the requests."""
    if bench.options.only and not any(bench.options.only in row for row in _ROWS):
        return
    keys = configured(bench.directory / "encryption.json", by_key("secretbox", "a"))
    encrypted, plain = _Side(bench, stack, (f"--encryption-provider-config={keys}",)), _Side(bench, stack, ())
    create, get, list_, start = _ROWS
    secrets = f"{bench.options.secrets:,}".replace(",", " ")
    # before others are made: a side that is faster makes more of them
    bench.record(start.format(secrets), encrypted.starts, plain.starts, _ROWS[start])
    bench.record(create, encrypted.creates, plain.creates, _ROWS[create], times=3)
    for case, path, connections in ((get, "/s-1?resourceVersion=0", 16), (list_, "?limit=500&resourceVersion=0", 4)):
        rates = (side.reading(_PATH + path, connections) for side in (encrypted, plain))
        bench.record(case, next(rates), next(rates), _ROWS[case], times=3)


class _Side:
    """A server with its own etcd."""

    def __init__(self, bench: Bench, stack: ExitStack, flags: tuple[str, ...]) -> None:
        self._flags, etcd = flags, stack.enter_context(EmbeddedEtcd(None))
        self._bench = replace(bench, etcd=etcd.endpoint)
        self._process, self._url = serve(self._bench, stack, *flags)
        wait_for(self._bench, f"{self._url}/readyz")
        posts = [("POST", _PATH, secret(f"s-{number}")) for number in range(bench.options.secrets)]
        assert set(asyncio.run(load.send(self._url, TOKEN, posts))) == {201}

    def creates(self) -> float:
        script = CREATE % (TOKEN, secret("NAME").decode())
        seconds, words = self._bench.options.seconds, (f"c{random.randrange(1 << 30)}",)
        return self._by_cpu(lambda: load.wrk(self._url + _PATH, TOKEN, seconds, 32, script, words))

    def reading(self, path: str, connections: int) -> Callable[[], float]:
        """A function that measures reads of a path."""
        seconds = self._bench.options.seconds
        return lambda: self._by_cpu(lambda: load.wrk(self._url + path, TOKEN, seconds, connections))

    def _by_cpu(self, run: Callable[[], float]) -> float:
        return requests_a_cpu_second(self._process.pid, run, self._bench.options.seconds)

    def starts(self) -> float:
        """Starts of another server on the same etcd, per second of its CPU."""
        with ExitStack() as stack:
            process, url = serve(self._bench, stack, *self._flags, "--controllers=-*")
            wait_for(self._bench, f"{url}/readyz")
            return 1 / cpu_seconds(process.pid)
