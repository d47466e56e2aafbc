"""Servers of a pool share an etcd and the process that they are forked from, and nothing else that a test can see."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from apiserver_gateway.program import command
from apiserver_gateway.testing import (
    ApiServer,
    Refused,
    ServerDidNotStart,
    advance_clock,
    ask,
    restore,
    snapshot,
    user,
    wait_for,
)
from apiserver_gateway.testing.faults import conflict
from apiserver_gateway.testing.pool import Pool
from apiserver_gateway.testing.requests import answer
from storage.embedded import EmbeddedEtcd
from storage.etcd import EtcdClient, EtcdSettings
from tests.limits import Withheld, at_most
from tests.until import until

MAPS = "/api/v1/namespaces/default/configmaps"
SERVICE = "/api/v1/namespaces/default/services/kubernetes"
AT_ONCE = 0.05  # seconds
PRIVATE = 36.0  # MB of private memory of a server: half of that of one that is not forked, without its etcd


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool() as made:
        yield made


@pytest.fixture(scope="module")
def two(pool: Pool) -> Iterator[tuple[ApiServer, ApiServer]]:
    with pool.server() as one, pool.server() as other:
        yield one, other


def test_objects_and_administrators_are_apart(two: tuple[ApiServer, ApiServer]) -> None:
    one, other = two
    ask(one, "POST", MAPS, {"metadata": {"name": "a"}})
    with pytest.raises(Refused, match="404"):
        ask(other, "GET", f"{MAPS}/a")
    with pytest.raises(Refused, match="401"):
        ask(other, "GET", MAPS, token=one.token)
    assert one.etcd_endpoint == other.etcd_endpoint


def test_users_faults_and_clocks_are_apart(two: tuple[ApiServer, ApiServer]) -> None:
    one, other = two
    alice = user(one, "alice", roles=["view"], namespace="default")
    ask(one, "GET", MAPS, token=alice.token)
    with pytest.raises(Refused, match="401"):
        ask(other, "GET", MAPS, token=alice.token)
    with one.faults.add(verb="list", resource="configmaps", answer=conflict()):
        with pytest.raises(Refused, match="409"):
            ask(one, "GET", MAPS)
        ask(other, "GET", MAPS)
    advance_clock(one, 3600)
    clocks = [ask(each, "POST", "/testing/clock", {"advance": 0})["now"] for each in two]
    assert clocks[0] - clocks[1] > 3000


def test_each_has_controllers(two: tuple[ApiServer, ApiServer]) -> None:
    for each in two:
        ask(each, "POST", "/api/v1/namespaces", {"metadata": {"name": "controlled"}})
        wait_for(each, "/api/v1/namespaces/controlled/serviceaccounts/default", bool)


def test_one_that_was_killed_starts_again_as_it_was(pool: Pool) -> None:
    with pool.server() as api:
        ask(api, "POST", MAPS, {"metadata": {"name": "kept"}})
        before, url = api.pid, api.url
        assert api.kill() == -signal.SIGKILL
        api.start()
        assert (api.url, api.pid != before) == (url, True)
        assert ask(api, "GET", f"{MAPS}/kept")["metadata"]["name"] == "kept"
        assert api.stop() == 0


def test_its_state_is_kept_and_restored_at_once(pool: Pool) -> None:
    with pool.server() as api:
        before = snapshot(api)
        for number in range(200):
            ask(api, "POST", MAPS, {"metadata": {"name": f"a-{number}"}})
        since = ask(api, "GET", MAPS)["metadata"]["resourceVersion"]
        restore(api, before)
        with answer(api, "GET", f"{MAPS}?watch=1&resourceVersion={since}") as told:
            gone = [json.loads(told.readline()) for _ in range(200)]
        assert {each["type"] for each in gone} == {"DELETED"}
        assert len({each["object"]["metadata"]["resourceVersion"] for each in gone}) == 1, "one transaction"


async def test_nothing_stays_of_one_that_is_gone(pool: Pool) -> None:
    with pool.server() as api:
        endpoint, directory = api.etcd_endpoint, api.directory
        prefix = f"/{directory.name}/".encode()
        async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client:
            async with asyncio.timeout(60):  # a server that answers may not have created the default roles yet
                while await keys(client, prefix) < 100:
                    await asyncio.sleep(0.01)
            await asyncio.to_thread(api.stop)
    assert not directory.exists()
    async with EtcdClient(EtcdSettings((endpoint,), timeout=60)) as client, asyncio.timeout(60):
        while await keys(client, prefix):  # the pool's process removes them, without notice
            await asyncio.sleep(0.01)


async def keys(client: EtcdClient, prefix: bytes) -> int:
    return len((await client.prefix(prefix)).kvs)


def test_an_etcd_of_its_own(tmp_path: Path) -> None:
    with Pool("--service-cluster-ip-range=10.9.0.0/16", own_etcd=True) as pool, pool.server() as api:
        assert api.etcd_endpoint != pool.etcd
        service = ask(api, "GET", SERVICE)
        assert service["spec"]["clusterIP"] == "10.9.0.1"


def test_a_flag_that_there_is_not(pool: Pool) -> None:
    with pytest.raises(ServerDidNotStart, match="--unheard-of"), Pool("--unheard-of=1"):
        pass
    with pytest.raises(ServerDidNotStart, match="--unheard-of"), pool.server("--unheard-of=1"):
        pass
    with (
        pytest.raises(ServerDidNotStart, match="unknown api groups"),
        pool.server("--runtime-config=example.org/v1=true"),
    ):
        pass


def test_flags_of_its_own(pool: Pool) -> None:
    with pool.server("--service-cluster-ip-range=10.8.0.0/16") as api, pool.server() as usual:
        addresses = [ask(each, "GET", SERVICE)["spec"]["clusterIP"] for each in (api, usual)]
    assert addresses == ["10.8.0.1", "10.0.0.1"]


def test_two_on_one_etcd_are_replicas(pool: Pool, own_etcd: EmbeddedEtcd) -> None:
    endpoint = own_etcd.endpoint
    with pool.server(etcd_servers=endpoint) as one, pool.server(etcd_servers=endpoint) as other:
        ask(one, "POST", MAPS, {"metadata": {"name": "shared"}})
        assert ask(other, "GET", f"{MAPS}/shared")["metadata"]["name"] == "shared"
        assert one.etcd_endpoint == other.etcd_endpoint == endpoint


def test_one_is_there_at_once_and_takes_little(pool: Pool) -> None:
    with pool.server():
        taken: list[float] = []
        while not taken or (min(taken) > AT_ONCE and len(taken) < 5):  # other load only adds to the time
            (made,) = pool._made
            until(made.kubeconfig.exists)  # it is written once requests are answered
            withheld, began = Withheld(), time.monotonic()
            with pool.server() as api:
                taken.append(time.monotonic() - began - withheld.until_now())
                assert api is made
                at_most(private_megabytes(api.pid), PRIVATE, "{found:.0f} MB are its own, {limit:.0f} are allowed")
        at_most(min(taken), AT_ONCE)


def private_megabytes(pid: int) -> float:
    """The memory that the process shares with no other."""
    lines = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return sum(int(each[1]) for each in lines if each[0] in ("Private_Clean:", "Private_Dirty:")) / 1024


def test_many_for_a_command() -> None:
    script = (
        'test "$KUBECONFIG" = "$KUBECONFIG_1" -a -s "$KUBECONFIG_2" -a "$KUBERNETES_SERVER_1" != "$KUBERNETES_SERVER_2"'
    )
    done = subprocess.run([*command("up"), "--pool=2", "--", "sh", "-c", script], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_many_for_who_reads_where_they_are() -> None:
    with subprocess.Popen([*command("up"), "--pool", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdin is not None and started.stdout is not None
        read = started.stdout.readline
        lines = dict(iter(lambda: read().decode().strip().partition("=")[::2], ("", "")))
        assert {"KUBECONFIG_1", "KUBECONFIG_2", "KUBERNETES_SERVER_2"} <= lines.keys()
        assert Path(lines["KUBECONFIG_2"]).exists()
        started.stdin.close()
        assert started.wait(60) == 0 and not Path(lines["KUBECONFIG_2"]).exists()
