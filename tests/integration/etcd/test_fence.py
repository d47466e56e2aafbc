"""A writer with a fence writes only while it holds the fence's key."""

from __future__ import annotations

import asyncio

import pytest

from storage.consistency import ConsistentReads
from storage.errors import Conflict, Fenced, KeyExists, WholeDeleted, WholeReplaced
from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.fence import Existence, Fence
from storage.reads import Reads
from storage.store import OUTPOST, EtcdStore
from storage.watch_cache import WatchCache

PATIENCE = 60.0  # seconds


@pytest.fixture
def lock(prefix: bytes) -> bytes:
    return prefix + b"lock"


@pytest.fixture
def store(etcd_client: EtcdClient, prefix: bytes) -> EtcdStore:
    cache = WatchCache(prefix)
    feed = Feed(etcd_client, cache)
    reads = Reads(etcd_client, cache, ConsistentReads(cache, etcd_client.revision, feed.request_progress))
    return EtcdStore(etcd_client, cache, reads, lambda event: None)


def is_ours(value: bytes) -> bool:
    return value == b"mine"


async def test_writes_are_made_while_the_key_is_held_and_renewed(
    etcd_client: EtcdClient, store: EtcdStore, prefix: bytes, lock: bytes
) -> None:
    fence = Fence(lock, is_ours)
    fenced = store.fenced(fence)
    fence.revision = (await etcd_client.put(lock, b"mine")).revision
    created = await fenced.create(prefix + b"a/x", b"1")
    await etcd_client.put(lock, b"mine")  # a renewal of which the fence does not know
    updated = await fenced.update(prefix + b"a/x", b"2", created)
    await etcd_client.put(lock, b"mine")
    await fenced.delete(prefix + b"a/x", updated)
    assert await etcd_client.get(prefix + b"a/x") is None


async def test_writes_go_on_in_an_etcd_that_was_set_back(
    etcd_client: EtcdClient, store: EtcdStore, prefix: bytes, lock: bytes
) -> None:
    fence = Fence(lock, is_ours)
    fence.revision = (await etcd_client.put(lock, b"mine")).revision + 1000
    async with asyncio.timeout(PATIENCE):
        await store.fenced(fence).create(prefix + b"a/x", b"1")


async def test_nothing_is_written_once_somebody_else_holds_it(
    etcd_client: EtcdClient, store: EtcdStore, prefix: bytes, lock: bytes
) -> None:
    fence = Fence(lock, is_ours)
    fenced = store.fenced(fence)
    fence.revision = (await etcd_client.put(lock, b"mine")).revision
    revision = await fenced.create(prefix + b"a/x", b"1")
    await etcd_client.put(lock, b"theirs")
    with pytest.raises(Fenced):
        await fenced.delete(prefix + b"a/x", revision)
    await etcd_client.put(lock, b"mine")
    with pytest.raises(Fenced):  # it has lost the key before: what it knows may be outdated
        await fenced.delete(prefix + b"a/x", revision)
    kept = await etcd_client.get(prefix + b"a/x")
    assert kept is not None and kept.value == b"1"


async def test_nothing_is_written_once_the_key_is_gone(
    etcd_client: EtcdClient, store: EtcdStore, prefix: bytes, lock: bytes
) -> None:
    fence = Fence(lock, is_ours)
    fence.revision = (await etcd_client.put(lock, b"mine")).revision
    await etcd_client.delete(lock)
    with pytest.raises(Fenced):
        await store.fenced(fence).create(prefix + b"a/x", b"1")


async def test_a_conflict_of_the_object_itself_is_told_as_one(
    etcd_client: EtcdClient, store: EtcdStore, prefix: bytes, lock: bytes
) -> None:
    fence = Fence(lock, is_ours)
    fence.revision = (await etcd_client.put(lock, b"mine")).revision
    fenced = store.fenced(fence)
    created = await fenced.create(prefix + b"a/x", b"1")
    await store.update(prefix + b"a/x", b"2", created)
    with pytest.raises(Conflict) as raised:
        await fenced.delete(prefix + b"a/x", created)
    assert raised.value.current is not None and raised.value.current.value == b"2"


async def test_writes_to_another_etcd_are_made_while_the_fence_is_held(
    etcd_client: EtcdClient, store: EtcdStore, own_client: EtcdClient, prefix: bytes, lock: bytes
) -> None:
    fence = Fence(lock, is_ours)
    fenced = store.fenced(fence, own_client)
    fence.revision = (await own_client.put(lock, b"mine")).revision
    created = await fenced.create(prefix + b"a/x", b"1")
    await own_client.put(lock, b"mine")  # a renewal of which the fence does not know
    updated = await fenced.update(prefix + b"a/x", b"2", created)
    with pytest.raises(Conflict):
        await fenced.delete(prefix + b"a/x", created)
    await etcd_client.delete(prefix + OUTPOST)  # as in an etcd that was restored
    await fenced.update(prefix + b"a/x", b"3", updated)


async def test_who_held_the_fence_before_writes_nothing_to_another_etcd(
    etcd_client: EtcdClient, store: EtcdStore, own_client: EtcdClient, prefix: bytes, lock: bytes
) -> None:
    """Not even a process that was paused after it had checked the fence, and has not heard of the change."""
    before, now = Fence(lock, is_ours), Fence(lock, lambda value: value == b"theirs")
    paused, goes_on = store.fenced(before, own_client), store.fenced(now, own_client)
    before.revision = (await own_client.put(lock, b"mine")).revision
    revision = await paused.create(prefix + b"a/x", b"1")
    now.revision = (await own_client.put(lock, b"theirs")).revision
    await goes_on.occupy()
    for _ in range(2):
        with pytest.raises(Fenced):
            await paused.delete(prefix + b"a/x", revision)
    await goes_on.update(prefix + b"a/x", b"2", revision)


async def test_a_fence_that_was_lost_is_not_carried_to_another_etcd(
    store: EtcdStore, own_client: EtcdClient, prefix: bytes, lock: bytes
) -> None:
    fence = Fence(lock, is_ours)
    fence.revision = (await own_client.put(lock, b"mine")).revision
    await own_client.put(lock, b"theirs")
    with pytest.raises(Fenced):
        await store.fenced(fence, own_client).create(prefix + b"a/x", b"1")


async def test_a_store_keeps_its_own_fence_beside_a_second_one(
    etcd_client: EtcdClient, store: EtcdStore, prefix: bytes, lock: bytes
) -> None:
    """A leader writes in a control plane only while it holds the lease, and until a restore exchanges the objects."""
    existence, fence = Existence(prefix + b"made"), Fence(lock, is_ours)
    made = await etcd_client.put(existence.key, b"")
    await existence.learn(etcd_client)
    fence.revision = (await etcd_client.put(lock, b"mine")).revision
    fenced = store.fenced(existence).fenced(fence)
    created = await fenced.create(prefix + b"a/x", b"1")
    await etcd_client.put(lock, b"mine")  # a renewal
    with pytest.raises(KeyExists):
        await fenced.create(prefix + b"a/x", b"1")
    with pytest.raises(Conflict):
        await fenced.update(prefix + b"a/x", b"2", made.revision)
    updated = await fenced.rewriting().update(prefix + b"a/x", b"2", created)
    await etcd_client.put(existence.key, b"")
    for each in (fenced, fenced.rewriting(), fenced.reading(fenced.reads)):
        for write in (
            each.create(prefix + b"a/y", b"1"),
            each.update(prefix + b"a/x", b"3", updated),
            each.delete(prefix + b"a/x", updated),
        ):
            with pytest.raises(WholeReplaced):
                await write
    await etcd_client.delete(existence.key)
    with pytest.raises(WholeDeleted):
        await fenced.create(prefix + b"a/y", b"1")
    found = (await etcd_client.prefix(prefix + b"a/")).kvs
    assert [(kv.key, kv.value) for kv in found] == [(prefix + b"a/x", b"2")]
    assert fence.revision, "the lease itself is held"
