"""A tap of the caches has their contents at every moment: from a state, then by changes in order."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.cache import ResourceCache
from storage.entry import ChangeType, Entry
from storage.tap import PART, Batch, Changes, TapState, listen, tap
from storage.watch_cache import WatchCache
from tests.unit.storage.canonical import ROOT, SPEC, canonical, label


class World:
    """Two resources that are written to in one order of revisions."""

    def __init__(self, revision: int = 1) -> None:
        self.cache = WatchCache(ROOT)
        self.resources = [self.cache.register(replace(SPEC, prefix=ROOT + name)) for name in (b"one/", b"two/")]
        self.revision = revision
        self.cache.advance(revision)

    def put(self, index: int, name: str, raw: bytes | None = None) -> None:
        resource = self.resources[index]
        self.revision += 1
        value = canonical(name, labels={"v": str(self.revision)}) if raw is None else raw
        resource.put(self.key(index, name), value, self.revision)
        self.done(resource)

    def remove(self, index: int, name: str) -> None:
        self.revision += 1
        self.resources[index].remove(self.key(index, name), self.revision)
        self.done(self.resources[index])

    def start_over(self) -> None:
        """As the feed does when etcd was set back."""
        self.cache.start_over()
        for index, resource in enumerate(self.resources):
            resource.load([(self.key(index, "loaded"), canonical("loaded", labels={"v": "9"}), 1)])
        self.cache.advance(self.revision)
        for resource in self.resources:
            resource.tell(None)
            resource.wake()

    def done(self, resource: ResourceCache) -> None:
        self.cache.advance(self.revision)
        resource.wake()

    def key(self, index: int, name: str) -> bytes:
        return self.resources[index].spec.prefix + b"n/" + name.encode()


class Follower:
    """A consumer of the tap that records what it gets."""

    def __init__(self) -> None:
        self.known: dict[bytes, Entry] = {}
        self.states = 0
        self.revision = 0

    def take(self, batch: Batch) -> None:
        assert batch.revision >= self.revision or isinstance(batch, TapState)
        if isinstance(batch, TapState):
            self.states += 1
            self.known = {entry.key: entry for entries in batch.entries.values() for entry in entries}
        else:
            last = self.revision
            for told in batch.told:
                change = told.change
                assert last <= change.revision <= batch.revision
                assert (change.type is ChangeType.ADDED) == (change.key not in self.known)
                last = change.revision
                if change.type is ChangeType.DELETED:
                    del self.known[change.key]
                else:
                    self.known[change.key] = change.entry
        self.revision = batch.revision


def present(world: World) -> dict[bytes, Entry]:
    entries = [entry.readable for resource in world.resources for entry in resource.slice(0, len(resource))]
    return {entry.key: entry for entry in entries if entry is not None}


async def catch_up(stream: AsyncIterator[Batch], follower: Follower, world: World) -> None:
    while follower.revision < world.revision or follower.known != present(world):
        async with asyncio.timeout(30):
            follower.take(await anext(stream))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "spoil", "remove", "over", "read"]), st.integers(0, 1), st.sampled_from("abc")
    ),
    max_size=40,
)


@given(STEPS)
def test_who_is_told_has_what_the_caches_have(steps: list[tuple[str, int, str]]) -> None:
    async def follow() -> None:
        world, slow, quick = World(), Follower(), Follower()
        world.put(0, "before")
        stream = tap(world.cache, world.resources)
        end = listen([(world.cache, each) for each in world.resources], quick.take)
        slow.take(await anext(stream))
        for step, index, name in steps:
            match step:
                case "put":
                    world.put(index, name)
                case "spoil":
                    world.put(index, name, b"?")
                case "remove":
                    world.remove(index, name)
                case "over":
                    world.start_over()
                case "read" if slow.known != present(world):
                    async with asyncio.timeout(30):
                        slow.take(await anext(stream))
            assert quick.known == present(world)
        world.put(1, "last")
        await catch_up(stream, slow, world)
        assert slow.known == quick.known == present(world)
        end()
        world.put(0, "unseen")
        assert quick.known != present(world)

    asyncio.run(follow())


async def test_the_state_comes_once_there_is_one() -> None:
    world = World(0)
    first = asyncio.ensure_future(anext(tap(world.cache, world.resources)))
    await asyncio.sleep(0)
    assert not first.done()
    world.put(0, "a")
    state = await first
    assert isinstance(state, TapState) and state.revision == world.revision
    assert [len(entries) for entries in state.entries.values()] == [1, 0]


async def test_changes_of_several_resources_come_in_the_order_of_revisions() -> None:
    world = World()
    stream = tap(world.cache, world.resources)
    await anext(stream)
    for number in range(2 * PART):
        world.put(number % 2 if number > PART + 9 else 0, "a")
    seen: list[int] = []
    while len(seen) < 2 * PART:
        batch = await anext(stream)
        assert isinstance(batch, Changes)
        seen += [told.change.revision for told in batch.told]
    assert seen == list(range(2, 2 * PART + 2))


async def test_who_falls_too_far_behind_gets_the_state_again() -> None:
    world, follower = World(), Follower()
    stream = tap(world.cache, world.resources)
    follower.take(await anext(stream))
    world.resources[0].history._max_changes = 1
    for _ in range(600):
        world.put(0, "a")
    world.put(1, "b")
    await catch_up(stream, follower, world)
    assert follower.states == 2
    assert label(follower.known[world.key(0, "a")].tail) == "601"


async def test_a_listener_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture) -> None:
    world, quick = World(), Follower()

    def fail(batch: Batch) -> None:
        if isinstance(batch, Changes):
            raise ValueError("no")

    listen([(world.cache, each) for each in world.resources], fail)
    listen([(world.cache, each) for each in world.resources], quick.take)
    world.put(0, "a")
    assert quick.known == present(world)
    assert "a listener of the watch cache failed" in caplog.text


def test_no_two_caches_nor_starts_share_a_generation() -> None:
    world, other = World(), World()
    seen = [resource.generation for resource in (*world.resources, *other.resources)]
    world.cache.start_over()
    seen += [resource.generation for resource in world.resources]
    assert len(set(seen)) == 6


def test_who_listens_before_the_first_load_is_told_of_it_once() -> None:
    cache = WatchCache(ROOT)
    resource = cache.register(SPEC)
    told: list[Batch] = []
    listen([(cache, resource)], told.append)
    resource.load([(SPEC.prefix + b"n/a", canonical("a"), 3)])
    cache.reached = 3
    resource.tell(None)
    resource.tell(None)
    assert [len(each.entries[resource]) for each in told if isinstance(each, TapState)] == [0, 1]
