"""An unreadable value is replaced once it can be read: no watch misses it, and none starts again."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from storage.cache import ResourceCache
from storage.catching_up import Past, Pasts
from storage.entry import Change, ChangeType, CorruptEntry
from storage.errors import AwaitedObject
from storage.etcd import EtcdClient, EtcdSettings
from storage.history import _weight
from storage.reread import Rereading
from storage.tap import TapState, listen, tap
from storage.values import AwaitedValue, UnreadableValue
from storage.waiters import Interest, InterestKind
from storage.watch_cache import WatchCache
from tests.unit.storage.canonical import ROOT, SPEC, canonical, key, label

LABELLED = Interest(InterestKind.LABEL, "v", "2")


class Service:
    """A transformer whose service is away at first. It turns a value round."""

    def __init__(self) -> None:
        self.away = True

    def concerns(self, key: bytes) -> bool:
        return True

    async def out(self, key: bytes, value: bytes) -> bytes:
        return value[::-1]

    async def into(self, key: bytes, value: bytes) -> bytes:
        return awaited(value) if self.away else value[::-1]


def awaited(value: bytes) -> AwaitedValue:
    found = AwaitedValue(value)
    found.reason = "the service is away"
    return found


class World:
    """A cache of pods, of which one version can't be read: a was of revision 1, is of 2, and b of 3 comes after it."""

    def __init__(self) -> None:
        self.cache, self.service = WatchCache(ROOT), Service()
        self.pods: ResourceCache = self.cache.register(SPEC)
        self.client = EtcdClient(EtcdSettings(("http://127.0.0.1:1",)))
        self.pasts = Pasts(self.client)
        self.rereading = Rereading(self.cache, self.pasts, self.service)
        self.put("a", canonical("a", labels={"v": "1"}), 1)
        self.put("a", awaited(canonical("a", labels={"v": "2"})[::-1]), 2)
        self.put("b", canonical("b", labels={"v": "3"}), 3)

    def put(self, name: str, value: bytes, revision: int) -> None:
        self.pods.put(key("n", name), value, revision)
        self.cache.advance(revision)
        self.pods.wake()

    async def read_again(self) -> None:
        self.service.away = False
        self.rereading.service_is_back()
        await self.rereading.after(0)


async def test_a_version_is_read_in_its_place() -> None:
    world = World()
    history = world.pods.history
    entry = world.pods.get(key("n", "a"))
    assert entry is not None
    with pytest.raises(AwaitedObject, match="the service is away"):
        _ = entry.tail
    world.pods.remove(key("n", "a"), 4)
    assert [change.awaited for change in history.between(0, history.end)] == [False, True, False, True]
    await world.read_again()
    changes = history.between(0, history.end)
    assert [(each.type, each.revision, label(each.entry.tail)) for each in changes] == [
        (ChangeType.ADDED, 1, "1"),
        (ChangeType.MODIFIED, 2, "2"),
        (ChangeType.ADDED, 3, "3"),
        (ChangeType.DELETED, 4, "2"),
    ]
    assert not any(change.corrupt for change in changes)
    assert b'"resourceVersion":"4"' in changes[3].entry.tail
    assert history._bytes == sum(map(_weight, changes))


async def test_what_is_there_is_read_again() -> None:
    world = World()
    await world.read_again()
    entry = world.pods.get(key("n", "a"))
    assert entry is not None and label(entry.tail) == "2" and entry.revision == 2
    assert not world.pods.awaited()


async def test_what_comes_meanwhile_stays() -> None:
    world = World()
    into = world.service.into

    async def meanwhile(name: bytes, value: bytes) -> bytes:
        world.put("a", canonical("a", labels={"v": "4"}), 4)
        return await into(name, value)

    with patch.object(world.service, "into", meanwhile):
        await world.read_again()
    entry = world.pods.get(key("n", "a"))
    assert entry is not None and label(entry.tail) == "4"
    assert not world.pods.awaited()


async def test_one_that_can_never_be_read_is_awaited_no_more() -> None:
    world = World()

    async def never(name: bytes, value: bytes) -> bytes:
        return UnreadableValue(value)

    with patch.object(world.service, "into", never):
        await world.read_again()
    entry = world.pods.get(key("n", "a"))
    assert isinstance(entry, CorruptEntry) and not world.pods.awaited()


async def test_a_service_that_is_away_again_is_waited_for_again() -> None:
    world = World()
    world.rereading.service_is_back()
    await world.rereading.after(0)
    assert len(world.pods.awaited()) == 1
    await world.read_again()
    await world.rereading.after(1)
    assert not world.pods.awaited()


async def test_a_failure_of_the_reading_keeps_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    with patch.object(world.service, "into", side_effect=ValueError):
        await world.read_again()
    assert "values that could not be decrypted could not be read again" in caplog.text
    world.rereading.service_is_back()
    await world.rereading.after(1)
    assert not world.pods.awaited()


async def test_it_may_concern_everybody_until_it_is_read() -> None:
    """A watcher that waits for a label would else go on behind it."""
    world = World()
    with patch("storage.relevant_changes.FEW", 0):
        for wanted in (LABELLED, Interest(InterestKind.LABEL, "v", "never")):
            assert await world.pods.concerning.next(wanted, 0) == 1
        await world.read_again()
        assert await world.pods.concerning.next(LABELLED, 0) == 1
        assert await world.pods.concerning.next(Interest(InterestKind.LABEL, "v", "never"), 0) == 3


async def test_it_wakes_all_who_wait_for_something_exact() -> None:
    world = World()
    waiters = [world.pods.changes(Interest(InterestKind.LABEL, "v", value)) for value in ("5", "never")]
    world.put("c", awaited(b"?"), 4)
    assert [waiter.result() for waiter in waiters] == [3, 3]


async def test_who_follows_is_told_the_state_once_it_is_read() -> None:
    world = World()
    told: list[TapState] = []
    end = listen([(world.cache, world.pods)], lambda batch: told.append(batch) if isinstance(batch, TapState) else None)
    tapped = tap(world.cache, [world.pods])
    first = await anext(tapped)
    assert isinstance(first, TapState) and labels_in(first, world.pods) == ["1", "3"]  # what could be read last
    await world.read_again()
    second = await anext(tapped)
    assert isinstance(second, TapState) and labels_in(second, world.pods) == ["2", "3"]
    assert [labels_in(state, world.pods) for state in told] == [["1", "3"], ["2", "3"]]
    end()


def labels_in(state: TapState, pods: ResourceCache) -> list[str]:
    return [label(entry.tail) for entry in state.entries[pods]]


async def test_pages_of_a_revision_and_what_is_read_of_the_past_are_read_again() -> None:
    world = World()
    past = Past(world.client, world.pods, 1)
    world.pasts._all.append(past)
    other = world.pods.entry(key("n", "a"), awaited(canonical("a", labels={"v": "2"})[::-1]), 2)
    past.window.append(Change(ChangeType.MODIFIED, 2, other, None, corrupt=True))
    before = world.pods.undoings.at(world.pods, 2).range(SPEC.prefix, SPEC.prefix)
    assert before is not None and [type(each) is CorruptEntry for each in before.entries()] == [True]
    await world.read_again()
    assert [label(change.entry.tail) for change in past.window.between(0, 1)] == ["2"]
    after = world.pods.undoings.at(world.pods, 2).range(SPEC.prefix, SPEC.prefix)
    assert after is not None and [label(each.tail) for each in after.entries()] == ["2"]
