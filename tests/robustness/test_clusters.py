"""Endpoints of two etcd clusters: a client stays with the cluster that it began with, and a server does not start."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from storage.errors import OtherCluster, Unavailable
from storage.etcd import ClusterState, EtcdClient, EtcdSettings
from tests.integration.reads.node import PATIENCE
from tests.robustness.members import Member, cluster
from tests.robustness.trouble import etcdctl

KEY = b"/registry/pods/default/a"


@pytest.fixture
def strangers(tmp_path: Path) -> Iterator[list[Member]]:
    """Two clusters of one member each."""
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    with cluster(tmp_path / "one", 1) as (one,), cluster(tmp_path / "other", 1) as (other,):
        yield [one, other]


def settings(members: list[Member], timeout: float = PATIENCE) -> EtcdSettings:
    return EtcdSettings(tuple(each.endpoint for each in members), timeout=timeout)


async def other_cluster(ask: Callable[[], Awaitable[object]]) -> OtherCluster:
    """The error of a call after the client has noticed the other cluster. Before, the call may time out."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await ask()
            except OtherCluster as error:
                return error
            except Unavailable:
                await asyncio.sleep(0)
            else:
                pytest.fail("another cluster was asked")


def replace(member: Member, like: Member) -> None:
    """Starts an empty etcd with another cluster ID at the member's address."""
    member.kill()
    like.kill()
    like.client = member.client
    like.start()


async def test_the_message_names_endpoints_and_clusters(strangers: list[Member]) -> None:
    async with EtcdClient(settings(strangers)) as client:
        with pytest.raises(OtherCluster) as raised:
            await client.compare()
        ids = [(await _alone(each)).cluster for each in strangers]
    for member, cluster_id in zip(strangers, ids, strict=True):
        assert f"{member.endpoint} is of cluster {cluster_id:x}" in str(raised.value)
    assert OtherCluster.REMEDY in str(raised.value)


async def _alone(member: Member) -> ClusterState:
    async with EtcdClient(settings([member])) as client:
        return await client.head()


async def test_the_other_cluster_is_not_used_when_the_first_is_away(strangers: list[Member]) -> None:
    one, other = strangers
    async with EtcdClient(settings(strangers, 0.5)) as client:
        await client.put(KEY, b"1", timeout=PATIENCE)
        await asyncio.to_thread(one.kill)
        for ask in (client.get(KEY), client.put(KEY, b"2"), client.head(), client.leases.grant(60)):
            with pytest.raises(Unavailable):
                await ask
        with pytest.raises(Unavailable):
            await client.watch(KEY).start()
        assert f"{other.endpoint} is of cluster" in str(await other_cluster(lambda: client.get(KEY)))
        await asyncio.to_thread(one.start)
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    found = await client.get(KEY)
                    break
                except Unavailable:
                    await asyncio.sleep(0)
    assert found is not None and found.value == b"1"
    async with EtcdClient(settings([other])) as client:
        assert await client.get(KEY) is None, "the write went to the other cluster"


async def test_an_etcd_that_is_exchanged_behind_its_address_is_noticed(strangers: list[Member], tmp_path: Path) -> None:
    """The connection is restored to another etcd at the same address. The client refuses it: its cluster ID is not that
    of the start.
    """
    one, other = strangers
    (tmp_path / "again").mkdir()
    with cluster(tmp_path / "again", 1) as (mine,):
        mine.kill()
        async with EtcdClient(settings([one, mine], 2)) as client:  # the second does not answer
            await client.put(KEY, b"1", timeout=PATIENCE)
            await asyncio.to_thread(replace, one, other)
            await other_cluster(lambda: client.get(KEY))
            await other_cluster(lambda: client.create(KEY + b"b", b"2"))


async def test_a_cluster_that_all_endpoints_are_of_is_taken(member: Member, tmp_path: Path) -> None:
    """A restore changes the cluster ID like this. The feed notices it and loads everything again."""
    named = EtcdSettings((member.endpoint, f"127.0.0.1:{member.client}"), timeout=PATIENCE)
    async with EtcdClient(named) as client:
        await client.put(KEY, b"1")
        before = await client.head()
        await asyncio.to_thread(member.save, tmp_path / "backup")
        await client.put(KEY, b"2")
        await asyncio.to_thread(member.restore, tmp_path / "backup", "--initial-cluster-token=restored")
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    after = await client.head()
                    break
                except Unavailable:
                    await asyncio.sleep(0)
        found = await client.get(KEY)
    assert after.cluster != before.cluster
    assert found is not None and found.value == b"1"


async def test_a_user_logs_in_for_the_question(tmp_path: Path) -> None:
    """An etcd with users tells its cluster ID to authenticated clients only."""
    with cluster(tmp_path, 1) as (member,):
        for words in ("user add root:pw", "user grant-role root root", "auth enable"):
            await asyncio.to_thread(etcdctl, member, *words.split())
        named = member.endpoint, f"127.0.0.1:{member.client}"
        async with EtcdClient(EtcdSettings(named, username="root", password="pw", timeout=PATIENCE)) as client:
            await client.compare()
            await client.put(KEY, b"1")
            async with client.watch(KEY, start_revision=1) as watch:
                assert (await anext(watch)).events


@pytest.mark.parametrize("identity", [False, True])
def test_a_server_does_not_start(strangers: list[Member], tmp_path: Path, identity: bool) -> None:
    command = [sys.executable, "-m", "gateway", "serve", "--bind-address=127.0.0.1", "--secure-port=0"]
    command += [f"--etcd-servers={','.join(each.endpoint for each in strangers)}", f"--cert-dir={tmp_path}/certs"]
    if identity:
        secret = tmp_path / "secret"
        secret.write_text("0123456789abcdef0123456789abcdef")
        command.append(f"--identity-key-file={secret}")
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert OtherCluster.BEGINNING in last and strangers[0].endpoint in last and strangers[1].endpoint in last
