"""--shared-cache: when the feeder, the process that reads etcd for all workers, is killed, workers continue, then use
the next one.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from apiserver_gateway.testing import ApiServer, api_server
from storage.embedded import EmbeddedEtcd
from storage.entry import MARK
from storage.etcd import EtcdClient, EtcdSettings
from storage.etcd.operations import put
from storage.sharing.publisher import WORTH
from tests.conftest import PATIENCE
from tests.integration.encryption.etcd import IDENTITY, by_key, configured, raw
from tests.integration.faults.load import Load
from tests.integration.faults.test_endings import namespaced
from tests.integration.reads.api import Client
from tests.integration.server.test_processes import children, kill
from tests.limits import at_most
from tests.until import until

SOON = 60.0  # seconds
STALL = 1.0  # seconds that the slowest read may take, while other processes write, read and start
PAGE = 100


@pytest.fixture
async def etcd() -> AsyncIterator[EmbeddedEtcd]:
    """An etcd with enough objects that values are shared."""
    with EmbeddedEtcd() as running:
        async with EtcdClient(EtcdSettings((running.endpoint,), timeout=PATIENCE)) as client:
            for start in range(0, WORTH, PAGE):
                await client.txn([], [put(*config_map(start + at)) for at in range(PAGE)])
        yield running


def config_map(number: int) -> tuple[bytes, bytes]:
    name = f"c{number}"
    value = (
        f'{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}","namespace":"default",'
        f'"uid":"00000000-0000-4000-8000-{number:012}","creationTimestamp":"2026-01-01T00:00:00Z"}},"data":{{"a":"b"}}}}'
    )
    return f"/registry/configmaps/default/{name}".encode(), value.encode() + MARK


def segments(pid: int, how: str) -> set[int]:
    """The shared memory segments that a process has mapped, by inode: the feeder's for writing (rw), workers' for
    reading (r-).
    """
    lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    fields = (line.split() for line in lines if "memfd:apiserver-gateway" in line)
    return {int(each[4]) for each in fields if each[1].startswith(how)}


def roles(server: ApiServer) -> tuple[int, list[int]]:
    """The process ids of the feeder and the workers, once all workers have mapped what the feeder has."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        try:
            pids = children(server.pid)
            written = {pid: found for pid in pids if (found := segments(pid, "rw"))}
            for feeder, there in written.items():
                workers = sorted(pids - {feeder})
                if len(workers) == 2 and all(there <= segments(pid, "r-") for pid in workers):
                    return feeder, workers
        except OSError:
            pass  # one of them has ended
        time.sleep(0.02)
    raise AssertionError("the workers do not share what the feeder has")


def on_all_workers(client: Client, server: ApiServer, said: Callable[[Client], Any]) -> list[Any]:
    """The answers on several connections; the kernel chooses the worker of each."""
    others = [client.on(server) for _ in range(8)]
    try:
        return [said(each) for each in others]
    finally:
        for each in others:
            each.close()


def metrics(client: Client) -> list[str]:
    """The feeder's metrics, which every worker returns."""
    body: bytes = client.ask("GET", "/metrics").body
    return body.decode().splitlines()


def test_workers_go_on_when_the_feeder_is_killed_and_when_one_of_them_is(etcd: EmbeddedEtcd, tmp_path: Path) -> None:
    """Values that are written meanwhile are encrypted in etcd."""
    keys = configured(tmp_path / "keys.json", by_key("aesgcm", "a"), IDENTITY, resources=("configmaps",))
    flags = "--workers=2", "--shared-cache=true", "--controllers=-*"
    with api_server(*flags, f"--encryption-provider-config={keys}", etcd_servers=etcd.endpoint) as server:
        feeder, workers = roles(server)
        client = namespaced(server)
        with Load(client) as told:
            slowest: list[float] = []
            for _ in range(2):
                told.slowest = 0.0
                kill(feeder)
                told.more_acknowledgements()
                feeder, same = roles(server)
                assert same == workers
                told.more_acknowledgements()
                slowest.append(told.slowest)
            assert not told.broken
            at_most(min(slowest), STALL + told.withheld.until_now())
            kill(workers[0])
            told.more_acknowledgements()
            assert workers[1] in roles(server)[1]

        client.close()  # it may be connected to the killed worker
        until(lambda: "apiserver_shared_cache_followers 2" in metrics(client))
        objects = next(line for line in metrics(client) if line.startswith("apiserver_shared_cache_objects "))
        assert float(objects.split()[1]) >= WORTH

        def everything(each: Client) -> Any:
            checked = {found["status"] for found in each.ask("GET", "/debug/consistency").json}
            return checked, each.ask("GET", "/api/v1/configmaps").json["items"]

        one, *others = on_all_workers(client, server, everything)
        assert one == ({"success"}, others[0][1]) and all(other == one for other in others)
        there = {item["metadata"]["name"]: item.get("data", {}) for item in one[1]}
        assert all(int(there[name]["n"]) >= number for name, number in told.acknowledged.items())
        name = next(iter(told.acknowledged))
        assert raw(etcd.endpoint, f"/registry/configmaps/{client.namespace}/{name}").startswith(b"k8s:enc:aesgcm:v1:a:")
        assert server.stop() == 0
    until(lambda: not Path(f"/proc/{feeder}").exists())  # its parent has ended: it must notice that itself
