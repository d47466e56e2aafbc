"""Caches that are set aside at the start are filled one by one. Changes during a load are included, and followers hear
of all objects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace

import pytest

from storage.cache import ResourceCache
from storage.entry import Entry
from storage.errors import Compacted, NotLoaded, Unavailable
from storage.etcd import KeyValue
from storage.etcd.results import ClusterState, RangeResult
from storage.fill import fill
from storage.followers import ByName, follow
from storage.reads import Reads
from storage.store import EtcdStore
from storage.watch_cache import WatchCache
from tests.unit.storage.canonical import ROOT, SPEC, canonical

OTHER = replace(SPEC, prefix=ROOT + b"others/")
REVISION = 7


class Etcd:
    """Answers as of one revision; `before` is called before each page."""

    def __init__(self, *keys: bytes) -> None:
        self.keys, self.asked = sorted(keys), list[bytes]()
        self.before: Callable[[], None] = lambda: None

    def _in(self, key: bytes, end: bytes) -> list[bytes]:
        return [each for each in self.keys if key <= each < end]

    async def head(self, key: bytes, end: bytes) -> ClusterState:
        return ClusterState(1, 1, REVISION, len(self._in(key, end)))

    async def range(self, key: bytes, end: bytes, *, limit: int, revision: int) -> RangeResult:
        await asyncio.sleep(0)
        self.asked.append(key)
        self.before()
        found = [KeyValue(each, canonical(each.rpartition(b"/")[2].decode()), 1, 1, 1) for each in self._in(key, end)]
        return RangeResult(revision=revision, kvs=found, more=False, count=len(found))


class World:
    """The caches of two resources that are set aside, a follower of both, and an etcd with their objects."""

    def __init__(self) -> None:
        self.cache = WatchCache(ROOT)
        self.resources: list[ResourceCache] = [self.cache.register(SPEC), self.cache.register(OTHER)]
        self.followed: ByName[str] = ByName("tests", lambda entry, _: entry.key.decode(), self._told)
        self.told: list[Collection[str]] = []
        follow([(self.cache, each) for each in self.resources], self.followed)
        self.etcd = Etcd(SPEC.prefix + b"a", SPEC.prefix + b"b", OTHER.prefix + b"c")
        self.cache.set_aside([])
        self.cache.unowned.unread = True
        self.cache.advance(REVISION)

    def _told(self, names: Collection[str], revision: int) -> None:
        self.told.append(list(names))

    async def fill(self) -> None:
        await fill(self.etcd, self.cache)  # type: ignore[arg-type]

    def put(self, key: bytes, revision: int) -> None:
        """Applies a change as the feed does for a key that no filled cache owns."""
        assert self.cache.of_key(key) is None
        self.cache.unowned.put(key, canonical(key.rpartition(b"/")[2].decode()), revision)
        self.cache.advance(revision)


async def test_those_with_few_objects_come_first_and_who_follows_is_told_of_each() -> None:
    world = World()
    await world.fill()
    assert world.etcd.asked == [OTHER.prefix, SPEC.prefix] and not world.cache.unfilled
    assert [len(each) for each in world.resources] == [2, 1]
    assert sorted(world.told[-1]) == ["a", "b", "c"], "also of the second, as of the same revision"
    assert {each.history.start for each in world.resources} == {REVISION}


async def test_what_changes_meanwhile_is_in_it() -> None:
    world = World()

    def change() -> None:
        if world.etcd.asked[-1] == SPEC.prefix:
            world.put(SPEC.prefix + b"a", 8)
            world.put(SPEC.prefix + b"new", 9)
            world.cache.unowned.remove(SPEC.prefix + b"b")
            world.cache.advance(10)

    world.etcd.before = change
    await world.fill()
    entries = world.resources[0].slice(0, 9)
    assert [(each.key, each.revision) for each in entries] == [(SPEC.prefix + b"a", 8), (SPEC.prefix + b"new", 9)]
    assert world.resources[0].history.start == world.cache.reached == 10


@pytest.mark.parametrize("error", [Compacted(), Unavailable("away")])
async def test_what_cannot_be_loaded_is_tried_again(error: Exception) -> None:
    world, failures = World(), [error]

    def fail() -> None:
        if failures:
            raise failures.pop()

    world.etcd.before = fail
    await world.fill()
    assert [len(each) for each in world.resources] == [2, 1]


async def test_what_was_begun_before_all_is_loaded_anew_is_void() -> None:
    world, voids = World(), [True]

    def load_anew() -> None:
        if voids and world.etcd.asked[-1] == SPEC.prefix:
            voids.pop()
            world.cache.unowned.start_over()  # the feed does this when it reloads everything
            world.etcd.keys.remove(SPEC.prefix + b"b")

    world.etcd.before = load_anew
    await world.fill()
    assert world.etcd.asked.count(SPEC.prefix) == 2
    assert [each.key for each in world.resources[0].slice(0, 9)] == [SPEC.prefix + b"a"]


async def test_nothing_is_said_to_be_missing_before() -> None:
    world = World()
    reads = Reads(world.etcd, world.cache, None)  # type: ignore[arg-type]
    store = EtcdStore(world.etcd, world.cache, reads, lambda *_: None)  # type: ignore[arg-type]
    key: Callable[[str], bytes] = lambda name: SPEC.prefix + name.encode()  # noqa: E731
    for look in (store.cached_entry, store.cached, lambda _: store.cached_entries(SPEC.prefix)):
        with pytest.raises(NotLoaded):
            look(key("a"))
    assert store.cached_entry(ROOT + b"nobodys/a") is None
    await world.fill()
    entry: Entry | None = store.cached_entry(key("a"))
    assert entry is not None and store.cached_entry(key("none")) is None
