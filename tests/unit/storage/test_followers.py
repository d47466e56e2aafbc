"""Each follower by name gets all usable objects; an unusable object does not affect the others."""

from __future__ import annotations

from collections.abc import Collection

from gateway.jsontypes import JsonObject, loads
from storage.cache import ResourceCache
from storage.entry import Entry
from storage.followers import ByName, follow
from storage.watch_cache import WatchCache
from tests.unit.storage.canonical import ROOT, SPEC, canonical


def labels_of(entry: Entry, before: str | None) -> str:
    """The label of an object, which is not there in those that make no sense; the one before in brackets."""
    obj: JsonObject = loads(b"{" + entry.tail)
    return f"{obj['metadata']['labels']['v']}({before or ''})"


class World:
    """A resource, and its follower."""

    def __init__(self) -> None:
        self.cache, self.revision = WatchCache(ROOT), 1
        self.resource: ResourceCache = self.cache.register(SPEC)
        self.told: list[tuple[list[str], int]] = []
        self.followed: ByName[str] = ByName("tests", labels_of, self._changed)
        self.end = follow([(self.cache, self.resource)], self.followed)
        self.load()

    def _changed(self, names: Collection[str], revision: int) -> None:
        self.told.append((list(names), revision))

    def load(self) -> None:
        self.cache.advance(self.revision)
        self.resource.tell(None)

    def put(self, name: str, label: str | None) -> None:
        self.revision += 1
        value = canonical(name, labels={} if label is None else {"v": label})
        self.resource.put(SPEC.prefix + name.encode(), value, self.revision)
        self.cache.advance(self.revision)

    def remove(self, name: str) -> None:
        self.revision += 1
        self.resource.remove(SPEC.prefix + name.encode(), self.revision)
        self.cache.advance(self.revision)


def test_a_follower_may_follow_several_etcds() -> None:
    one, other, told = World(), World(), list[int]()
    both: ByName[str] = ByName("tests", labels_of, lambda names, revision: told.append(revision))
    one.put("a", "1")
    other.put("b", "1")
    end = follow([(each.cache, each.resource) for each in (one, other)], both)
    assert both.all == {"a": "1()", "b": "1()"}
    for _ in range(3):
        one.put("a", "2")
    other.put("c", "1")
    assert (both.all["c"], told[-1]) == ("1()", other.revision), "each change has the revision of its etcd"
    other.load()
    assert both.all.keys() == {"a", "b", "c"}
    end()


def test_changes_are_told_by_name_with_what_was_known_before() -> None:
    world = World()
    world.put("a", "1")
    world.put("b", "1")
    world.put("a", "2")
    assert world.followed.all == {"a": "2(1())", "b": "1()"}
    world.remove("a")
    assert world.followed.all == {"b": "1()"}
    assert world.told[-4:] == [(["a"], 2), (["b"], 3), (["a"], 4), (["a"], 5)]


def test_an_object_that_makes_no_sense_leaves_what_was_known_and_all_others() -> None:
    world = World()
    world.put("a", "1")
    world.put("a", None)
    world.put("b", None)
    world.put("c", "1")
    assert world.followed.all == {"a": "1()", "c": "1()"}


def test_a_load_tells_everything_anew_and_what_is_gone() -> None:
    world = World()
    world.put("a", "1")
    world.put("b", "1")
    world.put("b", None)
    world.resource.start_over()
    world.revision += 10
    world.resource.put(SPEC.prefix + b"b", canonical("b", labels={}), world.revision)
    world.load()
    assert world.followed.all == {"b": "1()"}
    assert (sorted(world.told[-1][0]), world.told[-1][1]) == (["a", "b"], world.revision)


def test_nothing_is_told_after_the_end() -> None:
    world = World()
    world.end()
    told = list(world.told)
    world.put("a", "1")
    assert (world.followed.all, world.told) == ({}, told)
