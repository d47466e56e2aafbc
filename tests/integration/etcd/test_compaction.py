"""Compaction by several replicas on one etcd: one of them compacts per interval."""

from __future__ import annotations

import asyncio

import pytest

from storage.compaction import ROUND_KEY, Compactor, marker_key
from storage.embedded import EmbeddedEtcd
from storage.errors import Compacted, NoSpace, Unavailable
from storage.etcd import EtcdClient, EtcdSettings
from tests.conftest import PATIENCE
from tests.integration.crash import crash, lost
from tests.logged import will_log


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def compactor(client: EtcdClient, clock: Clock) -> Compactor:
    return Compactor(client, b"/registry/", interval=300, retention=300, clock=clock)


async def readable(client: EtcdClient, revision: int) -> bool:
    try:
        await client.range(b"k", revision=revision)
    except Compacted:
        return False
    return True


async def test_only_what_is_older_than_the_retention_is_forgotten(own_client: EtcdClient, clock: Clock) -> None:
    one = compactor(own_client, clock)
    old = (await own_client.put(b"k", b"1")).revision
    seen = (await own_client.put(b"k", b"2")).revision
    assert await one.step() == 0
    clock.now = 299
    young = (await own_client.put(b"k", b"3")).revision
    assert await one.step() == 0
    clock.now = 300
    assert await one.step() == seen == one.compacted
    assert [await readable(own_client, revision) for revision in (old, seen, young)] == [False, True, True]


async def test_one_replica_wins_a_round_and_the_others_learn(own_client: EtcdClient, clock: Clock) -> None:
    replicas = [compactor(own_client, clock) for _ in range(3)]
    for now in (0, 300, 600):
        clock.now = now
        await own_client.put(b"k", b"%d" % now)
        outcomes = await asyncio.gather(*(replica.step() for replica in replicas))
        assert sum(outcome > 0 for outcome in outcomes) == (now > 0)
    rounds = await own_client.get(ROUND_KEY)
    assert rounds is not None and rounds.version == 2
    assert {replica.compacted for replica in replicas} == {int(rounds.value)}


async def test_a_round_is_seen_under_the_prefix(own_client: EtcdClient, clock: Clock) -> None:
    one = compactor(own_client, clock)
    await own_client.put(b"k", b"1")
    await one.step()
    clock.now = 300
    async with own_client.watch(b"/registry/", b"/registry0") as watch:
        await one.step()
        batch = await anext(watch)
    rounds = await own_client.get(ROUND_KEY)
    assert rounds is not None and batch.revision == rounds.mod_revision == await own_client.revision()
    assert [event.kv.key for event in batch.events] == [marker_key(b"/registry/")]


async def test_a_round_of_a_kube_apiserver_counts(own_client: EtcdClient, clock: Clock) -> None:
    one = compactor(own_client, clock)
    await own_client.put(b"k", b"1")
    await one.step()
    await own_client.put(ROUND_KEY, b"2")
    clock.now = 300
    assert await one.step() == 0 and one.compacted == 2
    clock.now = 600
    assert await one.step() > 2


async def test_an_outage_only_delays_it(own_etcd: EmbeddedEtcd, own_client: EtcdClient) -> None:
    old = (await own_client.put(b"k", b"1")).revision
    await own_client.put(b"k", b"2")
    crash(own_etcd)
    async with EtcdClient(EtcdSettings((own_etcd.endpoint,), timeout=0.5)) as hasty:
        one = Compactor(hasty, b"/registry/", interval=0.05, retention=0.1)
        with pytest.raises(Unavailable):
            await one.step()
        async with will_log("the compaction of etcd failed and will be tried again"):
            running = asyncio.create_task(one.run())
        await asyncio.to_thread(own_etcd.start)
        await lost(own_client)
        async with asyncio.timeout(60), own_client.watch(ROUND_KEY) as rounds:
            await anext(rounds)
            await anext(rounds)
        running.cancel()
    assert not await readable(own_client, old)


async def test_an_interval_of_zero_compacts_nothing(own_client: EtcdClient) -> None:
    """It does not continue the compaction of another interval, either: it ends at once, and writes nothing."""
    old = (await own_client.put(b"k", b"1")).revision
    last = (await own_client.put(b"k", b"2")).revision
    async with asyncio.timeout(60):
        await Compactor(own_client, b"/registry/", interval=0, retention=0).run()
    assert await own_client.revision() == last
    assert await readable(own_client, old)


async def test_any_other_interval_would_have_compacted_that(own_client: EtcdClient) -> None:
    old = (await own_client.put(b"k", b"1")).revision
    await own_client.put(b"k", b"2")
    running = asyncio.create_task(Compactor(own_client, b"/registry/", interval=0.01, retention=0).run())
    async with asyncio.timeout(60), own_client.watch(ROUND_KEY) as rounds:
        await anext(rounds)
        await anext(rounds)
    running.cancel()
    assert not await readable(own_client, old)


async def test_an_etcd_without_space_is_compacted_all_the_same(clock: Clock) -> None:
    """It refuses the keys of the round, and would have no space for them ever again."""
    with EmbeddedEtcd(arguments=["--quota-backend-bytes=8388608"]) as etcd:
        async with EtcdClient(EtcdSettings((etcd.endpoint,), timeout=PATIENCE)) as client:
            one = compactor(client, clock)
            old = (await client.put(b"k", b"1")).revision
            assert await one.step() == 0
            with pytest.raises(NoSpace):
                for _ in range(100):
                    await client.put(b"k", b"x" * (1 << 20))
            clock.now = 300
            assert await one.step() == old  # and it has seen a later revision
            clock.now = 600
            assert await one.step() > old
            assert not await readable(client, old)
