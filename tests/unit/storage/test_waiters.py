"""A change wakes the watches that it may concern, at the position where it begins."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage import waiters as waiters_module
from storage.cache import ResourceCache
from storage.entry import ChangeType
from storage.waiters import AT_ONCE, CROWD, Interest, InterestKind, Waiter
from tests.unit.storage.canonical import PREFIX, canonical, key, pods

INTERESTS = [
    Interest(InterestKind.KEY, "", key("n", "a")),
    Interest(InterestKind.PREFIX, "", PREFIX + b"n/"),
    Interest(InterestKind.FIELD, "metadata.name", "a"),
    Interest(InterestKind.LABEL, "v", "1"),
]


class Told(list[int]):
    """Where each change began of which somebody was told."""

    def __init__(self) -> None:
        self._news = asyncio.Event()

    def hear(self, position: int) -> None:
        self.append(position)
        self._news.set()

    async def heard(self) -> None:
        """Waits until there is more than when this was last asked."""
        await self._news.wait()
        self._news.clear()


def put(cache: ResourceCache, namespace: str, name: str, revision: int, **labels: Any) -> None:
    cache.put(key(namespace, name), canonical(name, labels=labels), revision)


async def test_only_those_concerned_are_woken() -> None:
    cache = pods()
    waiters = [cache.changes(interest) for interest in INTERESTS]
    put(cache, "m", "b", 1, v="2")
    cache.wake()
    assert not any(waiter.done() for waiter in waiters)
    put(cache, "n", "c", 2)
    put(cache, "m", "a", 3)
    put(cache, "m", "b", 4, v="1")
    cache.wake()
    assert [waiter.done() and waiter.result() for waiter in waiters] == [False, 1, 2, 3]


@pytest.mark.parametrize("how", ["relabelled", "deleted"])
async def test_those_whose_selection_is_left_are_woken(how: str) -> None:
    cache = pods()
    put(cache, "n", "a", 1, v="1")
    cache.wake()
    waiters = [cache.changes(interest) for interest in INTERESTS]
    if how == "deleted":
        cache.remove(key("n", "a"), 2)
    else:
        put(cache, "n", "a", 2, v="2")
    cache.wake()
    assert [waiter.result() for waiter in waiters] == [1, 1, 1, 1]


async def test_all_are_woken_when_there_is_nothing_more_to_wait_for() -> None:
    cache = pods()
    waiters = [cache.changes(interest) for interest in (*INTERESTS, None)]
    cache.wake_all()
    assert [waiter.result() for waiter in waiters] == [-1] * 5


async def test_who_waits_no_more_leaves_nothing() -> None:
    cache = pods()
    for interest in (*INTERESTS, None):
        cache.forget(cache.changes(interest), interest)
    assert not cache._waiters.selective and not cache._waiters._any.waiters


def a_crowd_that_was_just_woken(cache: ResourceCache, interest: Interest | None) -> list[Waiter]:
    """Who waits again after a change, which all of them were told of at once."""
    first = [cache.changes(interest) for _ in range(CROWD)]
    put(cache, "n", "a", 1, v="1")
    cache.wake()
    assert [waiter.result() for waiter in first] == [0 if interest else -1] * CROWD
    crowd = []
    for waiter in first:  # one by one, as each goes on
        cache.forget(waiter, interest)
        crowd.append(cache.changes(interest))
    return crowd


@pytest.mark.parametrize("interest", [*INTERESTS, None])
async def test_a_crowd_is_woken_once_for_several_changes_and_misses_none(
    interest: Interest | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters_module, "PAUSE_EACH", 3600.0)
    monkeypatch.setattr(waiters_module, "MAX_PAUSE", 3600.0)
    cache = pods()
    crowd = a_crowd_that_was_just_woken(cache, interest)
    for revision in (2, 3):
        put(cache, "n", "a", revision, v="1")
        cache.wake()
    assert not any(waiter.done() for waiter in crowd)
    told = 1 if interest else -1
    assert cache.unserved(list[int]().append, interest) == told, "who has waited long enough would miss what came"
    cache.wake_all()
    assert [waiter.result() for waiter in crowd] == [told] * CROWD


@pytest.mark.parametrize("interest", [*INTERESTS, None])
async def test_a_crowd_is_woken_without_another_change(interest: Interest | None) -> None:
    cache = pods()
    crowd = a_crowd_that_was_just_woken(cache, interest)
    put(cache, "n", "a", 2, v="1")
    cache.wake()
    assert await asyncio.gather(*crowd) == [1 if interest else -1] * CROWD


async def test_who_has_waited_long_enough_looks_from_the_end_on() -> None:
    cache, told = pods(), Told()
    put(cache, "n", "a", 1)
    cache.wake()
    cache.follow_changes(told.hear, INTERESTS[0])
    assert cache.unserved(told.hear, INTERESTS[0]) == 1
    put(cache, "n", "a", 2)
    cache.wake()
    assert cache.unserved(told.hear, INTERESTS[0]) == 1, "what it is yet to be told of is skipped"
    await told.heard()
    assert told == [1] and cache.unserved(told.hear, INTERESTS[0]) == 2


async def test_who_follows_is_told_of_each_change_until_it_ends() -> None:
    cache = pods()
    told: dict[Interest | None, Told] = {interest: Told() for interest in (*INTERESTS, None)}
    for interest, positions in told.items():
        cache.follow_changes(positions.hear, interest)
    put(cache, "n", "a", 1, v="1")
    cache.wake()
    assert not any(told.values()), "who applies a change does not wait for those who hear of it"
    await told[None].heard()
    put(cache, "m", "b", 2, v="2")
    cache.wake()
    await told[None].heard()
    assert told == {**{interest: [0] for interest in INTERESTS}, None: [-1, -1]}
    cache.follow_changes((witness := Told()).hear, None)
    put(cache, "n", "a", 3, v="1")
    cache.wake()
    for interest, positions in told.items():
        cache.unfollow_changes(positions.hear, interest)
    await witness.heard()
    cache.unfollow_changes(witness.hear, None)
    assert told == {**{interest: [0] for interest in INTERESTS}, None: [-1, -1]}
    assert not cache._waiters.selective and not cache._waiters._any.followers


async def test_a_crowd_of_followers_is_told_in_parts_and_each_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiters_module, "SLICE", 60.0)  # however busy the machine is
    cache, told = pods(), [Told() for _ in range(2 * AT_ONCE + 1)]
    for each in told:
        cache.follow_changes(each.hear, INTERESTS[0])
    put(cache, "n", "a", 1)
    cache.wake()
    await told[AT_ONCE - 1].heard()
    assert told == [[0]] * AT_ONCE + [[]] * (AT_ONCE + 1)
    put(cache, "n", "a", 2)
    cache._waiters.wake_all(1)
    await told[2 * AT_ONCE - 1].heard()
    assert told == [[0]] * 2 * AT_ONCE + [[]], "those who have heard nothing yet come first"
    await told[AT_ONCE - 1].heard()
    assert told == [[0, 0]] * AT_ONCE + [[0]] * (AT_ONCE + 1)


@given(st.lists(st.tuples(st.sampled_from("nm"), st.sampled_from("ab"), st.sampled_from(["", "1", "2"])), max_size=12))
def test_nobody_misses_what_a_look_at_everything_would_find(steps: list[tuple[str, str, str]]) -> None:
    """An empty label stands for a deletion."""

    def concerns(interest: Interest, cache: ResourceCache, position: int) -> bool:
        (change,) = cache.history.between(position, position + 1)
        entries = [change.previous] if change.type is ChangeType.DELETED else [change.previous, change.entry]
        for entry in filter(None, entries):
            attributes = entry.labels_and_fields(cache.spec.labels_and_fields_of)
            values = (entry.key, entry.key[:-1], attributes.fields["metadata.name"], attributes.labels.get("v"))
            if values[list(InterestKind).index(interest.by)] == interest.value:
                return True
        return False

    async def run() -> None:
        cache = pods()
        waiters = {interest: (0, cache.changes(interest)) for interest in INTERESTS}
        for revision, (namespace, name, label) in enumerate(steps, 1):
            if label:
                put(cache, namespace, name, revision, v=label)
            else:
                cache.remove(key(namespace, name), revision)
            cache.wake()
            for interest, (since, waiter) in waiters.items():
                concerned = [at for at in range(since, cache.history.end) if concerns(interest, cache, at)]
                assert (waiter.result() if waiter.done() else None) == (concerned[0] if concerned else None)
                if waiter.done():
                    cache.forget(waiter, interest)
                    waiters[interest] = cache.history.end, cache.changes(interest)

    asyncio.run(run())


async def test_followers_that_take_long_are_told_in_several_turns() -> None:
    """A large event is encrypted for each of them: others have their turn in between."""
    cache = pods()
    turns, told = [0], list[int]()

    def take_long(position: int) -> None:
        time.sleep(2 * waiters_module.SLICE)
        told.append(turns[0])

    followers = [(lambda position, _=number: take_long(position)) for number in range(4)]
    for follower in followers:
        cache.follow_changes(follower, INTERESTS[0])
    put(cache, "n", "a", 1)
    cache.wake()
    while len(told) < len(followers):
        await asyncio.sleep(0)
        turns[0] += 1
    assert len(set(told)) == len(followers)
