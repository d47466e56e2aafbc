"""The rules of storage/protocol.py and storage/change.py hold for the etcd store, and for the fake store of unit
tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace

import pytest

from storage.change import KEEP, Changed, Decision, Delete, Outcome, Put, change, removed
from storage.errors import Conflict, CorruptObject, KeyExists, StoredObject, Unavailable
from storage.etcd import EtcdClient
from storage.protocol import Store
from storage.store import EtcdStore
from tests.integration.reads.node import Node
from tests.unit.storage.canonical import canonical
from tests.unit.verbs.fake_store import FakeStore


@dataclass(slots=True)
class Subject:
    """A store, a key in it, and a function that stores an unreadable value there."""

    store: Store
    key: bytes
    spoil: Callable[[bytes], Awaitable[None]]


@pytest.fixture(params=["etcd", "memory"])
async def subject(request: pytest.FixtureRequest, etcd_client: EtcdClient, prefix: bytes) -> AsyncIterator[Subject]:
    if request.param == "memory":
        memory = FakeStore()

        async def spoil(raw: bytes) -> None:
            memory.spoil(prefix + b"pods/n/a", raw)

        yield Subject(memory, prefix + b"pods/n/a", spoil)
        return
    node = Node(etcd_client, prefix)

    async def spoil_behind(raw: bytes) -> None:
        await etcd_client.put(node.key("a"), raw)

    async with node.running():
        yield Subject(
            EtcdStore(etcd_client, node.cache, node.reads, node.feed.acknowledged), node.key("a"), spoil_behind
        )


def value(text: str) -> bytes:
    return canonical("a", labels={"v": text})


def making(*decisions: Decision | Exception) -> tuple[Callable[..., Awaitable[Decision]], list[StoredObject | None]]:
    """A `Make` that returns the given decisions one after the other, and the versions that it was given."""
    seen: list[StoredObject | None] = []
    left = list(decisions)

    async def make(current: StoredObject | None) -> Decision:
        seen.append(current)
        decision = left.pop(0)
        if isinstance(decision, Exception):
            raise decision
        return decision

    return make, seen


async def test_a_rule_for_requests_is_in_the_cache_when_its_write_is_answered(
    etcd_client: EtcdClient, prefix: bytes
) -> None:
    node = Node(etcd_client, prefix)
    node.pods.spec = replace(node.pods.spec, awaited=True)
    async with node.running():  # no own write is applied before the watch delivers it, as for other clients' writes
        store = EtcdStore(etcd_client, node.cache, node.reads, lambda *events: None)
        key = node.key("a")
        made = await store.create(key, value("1"))
        assert node.cache.reached >= made
        changed = await store.update(key, value("2"), made)
        assert node.cache.reached >= changed
        gone = await store.delete(key, changed)
        assert node.cache.reached >= gone


async def test_a_write_is_seen_by_every_read_that_follows(subject: Subject) -> None:
    store, key = subject.store, subject.key
    prefix = key.rpartition(b"/")[0] + b"/"
    assert (await store.get(key), await store.latest(key), await store.list(prefix)) == (None, None, [])
    first = await store.create(key, value("1"))
    assert await store.get(key) == await store.latest(key) == StoredObject(key, value("1"), first)
    second = await store.update(key, value("2"), first)
    assert second > first
    assert await store.get(key) == await store.latest(key) == StoredObject(key, value("2"), second)
    assert await store.list(prefix) == [StoredObject(key, value("2"), second)]
    assert store.cached(key) == store.cached_entries(prefix)[0].stored() == StoredObject(key, value("2"), second)
    entry = store.cached_entry(key)
    assert entry is not None and entry.parsed()["metadata"]["resourceVersion"] == str(second)
    assert await store.delete(key, second) > second
    assert (await store.get(key), await store.latest(key), await store.list(prefix)) == (None, None, [])


async def test_a_list_is_what_is_under_its_prefix_in_key_order(subject: Subject) -> None:
    base = subject.key[: -len(b"n/a")]
    for path in (b"n/b", b"n/a-b", b"n/a", b"n-m/a", b"n0/a"):
        await subject.store.create(base + path, value("1"))
    assert [each.key for each in await subject.store.list(base + b"n/")] == [
        base + b"n/a",
        base + b"n/a-b",
        base + b"n/b",
    ]
    assert [each.key for each in subject.store.cached_entries(base + b"n0/")] == [base + b"n0/a"]
    assert len(await subject.store.list(base)) == 5


async def test_a_comparison_that_fails_tells_what_is_there(subject: Subject) -> None:
    store, key = subject.store, subject.key
    first = await store.create(key, value("1"))
    second = await store.update(key, value("2"), first)
    present = StoredObject(key, value("2"), second)
    with pytest.raises(KeyExists) as exists:
        await store.create(key, value("3"))
    with pytest.raises(Conflict) as stale:
        await store.update(key, value("3"), first)
    with pytest.raises(Conflict) as kept:
        await store.delete(key, first)
    assert exists.value.current == stale.value.current == kept.value.current == present
    await store.delete(key, second)
    for lost in (store.update(key, value("3"), second), store.delete(key, second)):
        with pytest.raises(Conflict) as gone:
            await lost
        assert gone.value.current is None


async def test_what_cannot_be_read_is_told_apart_and_can_be_deleted(subject: Subject) -> None:
    store, key = subject.store, subject.key
    await store.create(key, value("1"))
    await subject.spoil(b"?")
    for found in (await store.get(key), await store.latest(key), store.cached(key)):
        assert found is not None and found.corrupt and found.raw == b"?"
        with pytest.raises(CorruptObject):
            _ = found.value

    async def patch(current: StoredObject | None) -> Decision:
        assert current is not None
        return Put(current.value)

    with pytest.raises(CorruptObject):
        await change(store, key, patch)
    assert (await store.get(key)).raw == b"?"  # type: ignore[union-attr]
    assert (await change(store, key, removed)).outcome is Outcome.DELETED
    assert await store.get(key) is None


async def test_a_change_makes_replaces_deletes_or_keeps(subject: Subject) -> None:
    store, key = subject.store, subject.key
    make, seen = making(Put(value("1")), Put(value("2")), KEEP, Delete(), KEEP, Delete())
    created = await change(store, key, make)
    first = StoredObject(key, value("1"), created.revision)
    assert created == Changed(Outcome.CREATED, None, first, created.revision)
    updated = await change(store, key, make)
    second = StoredObject(key, value("2"), updated.revision)
    assert updated == Changed(Outcome.UPDATED, first, second, updated.revision)
    assert await change(store, key, make) == Changed(Outcome.UNCHANGED, second, second, second.revision)
    deleted = await change(store, key, make)
    assert deleted == Changed(Outcome.DELETED, second, None, deleted.revision)
    assert deleted.revision > second.revision
    for _ in range(2):
        assert await change(store, key, make) == Changed(Outcome.UNCHANGED, None, None, 0)
    assert seen == [None, first, second, second, None, None]


async def test_changes_at_the_same_time_are_all_made(subject: Subject) -> None:
    store, key = subject.store, subject.key

    async def add(current: StoredObject | None) -> Decision:
        await asyncio.sleep(0)
        return Put(value("1") if current is None else current.value.replace(b'"v":"', b'"v":"1'))

    done = await asyncio.gather(*(change(store, key, add) for _ in range(20)))
    assert sorted(each.outcome is Outcome.CREATED for each in done) == [False] * 19 + [True]
    assert len({each.revision for each in done}) == 20
    assert await store.get(key) == StoredObject(key, value("1" * 20), max(each.revision for each in done))


async def test_what_a_stale_version_led_to_is_looked_at_again(subject: Subject) -> None:
    """An error, or the decision to do nothing, is final only for the most recent version."""
    store, key = subject.store, subject.key
    stale = StoredObject(key, value("0"), await store.create(key, value("0")))
    present = StoredObject(key, value("1"), await store.update(key, value("1"), stale.revision))
    for first, outcome in ((KEEP, Outcome.UNCHANGED), (ValueError("stale"), Outcome.UNCHANGED)):
        make, seen = making(first, KEEP)
        assert await change(store, key, make, start=stale) == Changed(outcome, present, present, present.revision)
        assert seen == [stale, present]
    make, seen = making(ValueError("right"))
    with pytest.raises(ValueError, match="right"):
        await change(store, key, make, start=present)
    assert seen == [present]
    make, seen = making(ValueError("stale"), ValueError("right"))
    with pytest.raises(ValueError, match="right"):
        await change(store, key, make, start=stale)
    make, seen = making(Unavailable("no use in trying again"), KEEP)
    with pytest.raises(Unavailable):
        await change(store, key, make, start=stale)
    assert seen == [stale]


async def test_a_change_that_loses_goes_on_with_what_is_there(subject: Subject) -> None:
    store, key = subject.store, subject.key
    stale = StoredObject(key, value("0"), await store.create(key, value("0")))
    present = StoredObject(key, value("1"), await store.update(key, value("1"), stale.revision))
    make, seen = making(Put(value("2")), Put(value("3")))
    assert (await change(store, key, make, start=stale)).outcome is Outcome.UPDATED
    assert seen == [stale, present]
    await change(store, key, removed)
    make, seen = making(Delete(), Put(value("4")))
    assert (await change(store, key, make, start=stale)).outcome is Outcome.CREATED
    assert seen == [stale, None]


async def test_who_takes_something_for_a_write_is_told_whether_it_was_made(subject: Subject) -> None:
    store, key = subject.store, subject.key
    told: list[bool] = []

    async def finish(made: bool) -> None:
        told.append(made)

    stale = StoredObject(key, value("0"), await store.create(key, value("0")))
    await store.update(key, value("1"), stale.revision)
    make, _ = making(Put(value("2"), finish=finish), Put(value("3"), finish=finish))
    await change(store, key, make, start=stale)
    assert told == [False, True]
    make, _ = making(Delete(finish), Delete(finish))
    await change(store, key, make, start=stale)
    assert told == [False, True, False, True]
