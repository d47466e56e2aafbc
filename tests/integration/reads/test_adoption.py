"""Resources that are registered while the feed runs get all objects from etcd, and leave nothing when they are
removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from storage.adoption import register, unregister
from storage.cache import ResourceCache
from storage.etcd import EtcdClient
from storage.history import Overrun
from tests.integration.reads.node import Node
from tests.unit.storage.canonical import SPEC, canonical, label


class Things:
    """A resource that is registered and removed beside the pods of a node."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.spec = replace(SPEC, prefix=node.root + b"example.com/things/")

    async def put(self, name: str, version: str = "") -> int:
        value = canonical(name, labels={"v": version})
        return (await self.node.client.put(self.spec.prefix + b"n/" + name.encode(), value)).revision

    async def delete(self, name: str) -> int:
        return (await self.node.client.delete(self.spec.prefix + b"n/" + name.encode())).revision

    async def register(self) -> ResourceCache:
        return await register(self.node.cache, self.node.client, self.spec)


@pytest.fixture
async def things(etcd_client: EtcdClient, prefix: bytes) -> AsyncIterator[Things]:
    yield Things(Node(etcd_client, prefix))


def shown(resource: ResourceCache) -> dict[str, str]:
    found = resource.slice(0, len(resource))
    assert [entry.key for entry in found] == sorted(entry.key for entry in found)
    return {entry.key.rpartition(b"/")[2].decode(): label(entry.tail) for entry in found}


class NoRange:
    """An etcd client on which no range may be read."""

    async def range(self, *_: object, **__: object) -> None:
        pytest.fail("everything was loaded before")


@pytest.mark.parametrize("dropped", [False, True])
async def test_what_was_there_before_is_there(things: Things, dropped: bool) -> None:
    node = things.node
    await things.put("old", "1")
    await things.put("gone", "1")
    async with node.running():
        if dropped:
            node.cache.unowned._limit = 10
        await things.put("new", "1")
        await things.put("old", "2")
        await node.reaches(await things.delete("gone"))
        assert bool(node.cache.unowned.dropped) == dropped
        client = node.client if dropped else NoRange()
        resource = await register(node.cache, client, things.spec)  # type: ignore[arg-type]
        assert shown(resource) == {"new": "1", "old": "2"}
        assert resource.history.start == node.cache.reached
        with pytest.raises(Overrun):
            resource.history.position_after(node.cache.reached - 1)
        end = resource.history.end
        await node.reaches(await things.put("new", "3"))
        assert [change.type.name for change in resource.history.between(end, end + 1)] == ["MODIFIED"]
        assert await things.register() is resource


@pytest.mark.parametrize("dropped", [False, True])
async def test_what_changes_meanwhile_is_not_missed(things: Things, dropped: bool) -> None:
    node = things.node
    for number in range(1200):
        await things.put(f"t{number}", "1")
    async with node.running():
        if dropped:
            node.cache.unowned._limit = 10
            await node.reaches(await things.put("t0", "1"))
        stop, begun = False, asyncio.Event()

        async def write() -> int:
            number = revision = 0
            while not stop:
                await things.put(f"t{number % 1200}", "2")
                revision = await things.delete(f"t{(number * 7 + 1) % 1200}")
                number += 1
                begun.set()
            return revision

        writer = asyncio.create_task(write())
        await begun.wait()
        resource = await things.register()
        stop = True
        await node.reaches(await writer)
        other = Node(node.client, node.root)
        expected = other.cache.register(things.spec)
        async with other.running():
            assert shown(resource) == shown(expected)


async def test_what_a_resource_leaves_behind_the_next_one_finds(things: Things) -> None:
    node = things.node
    async with node.running():
        await node.reaches(await things.put("a", "1"))
        first = await things.register()
        waiter, position = first.changes(), first.history.end
        unregister(node.cache, first)
        assert waiter.done() and first.closed and len(first) == 0
        with pytest.raises(Overrun):
            first.history.between(position, first.history.end)
        await things.put("b", "2")
        await node.reaches(await things.put("c", "2"))
        await node.reaches(await things.delete("c"))
        second = await register(node.cache, NoRange(), things.spec)  # type: ignore[arg-type]
        assert shown(second) == {"a": "1", "b": "2"}
        assert second.generation != first.generation
        assert node.cache.unowned.size == 0


async def test_who_gives_up_registering_loses_nothing(things: Things) -> None:
    node = things.node
    async with node.running():
        await node.reaches(await things.put("a", "1"))
        size = node.cache.unowned.size
        task = asyncio.create_task(things.register())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if not node.cache.has(things.spec.prefix):
            assert node.cache.unowned.size == size
        assert shown(await things.register()) == {"a": "1"}


async def test_a_load_anew_while_registering_starts_that_again(things: Things) -> None:
    node = things.node
    async with node.running():
        await node.reaches(await things.put("a", "1"))
        taking = node.cache.unowned.take(things.spec.prefix)
        await node.reaches(await things.put("b", "1"))
        assert set(taking.changes) == {things.spec.prefix + b"n/b"}
        await node.feed._load()
        assert taking.void
        node.cache.unowned.give_back(taking)
        assert shown(await things.register()) == {"a": "1", "b": "1"}
