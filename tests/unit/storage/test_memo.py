"""A value derived from an object version is computed once, and the cache of such values is bounded."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from storage.entry import Entry, entry_of
from storage.memo import OVERHEAD, Memo, Memos
from tests.unit.storage.canonical import HEAD, PREFIX, canonical


def entry() -> Entry:
    return entry_of(PREFIX + b"n/a", canonical("a"), 5, HEAD)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.integers(0, 500)), max_size=60))
def test_all_memos_together_stay_within_the_limit(steps: list[tuple[int, str, int]]) -> None:
    memos, each = Memos(5000), [Memo() for _ in range(10)]
    for index, key, size in steps:
        memos.keep(each[index], key, size, size)
        assert memos.size == sum(memo.size for memo in each) <= 5000
        assert all((memo.size == 0) == (not memo.values) for memo in each)


def test_what_was_not_asked_for_longest_goes_first() -> None:
    size, room = 300, 20
    memos = Memos(room * (size + OVERHEAD))
    each = [Memo() for _ in range(room + 1)]
    for memo in each[:room]:
        memos.keep(memo, "k", "value", size)
    assert memos.find(each[0], "k") == "value"
    memos.keep(each[room], "k", "value", size)
    assert [memos.find(memo, "k") for memo in each] == ["value", None] + ["value"] * (room - 1)


def test_what_is_remembered_of_an_object_version_goes_with_it() -> None:
    memos, stays, goes = Memos(10_000), Memo(), Memo()
    for memo in (stays, goes):
        memos.keep(memo, "k", "value", 50)
        memos.keep(memo, "l", "value", 10)
    del memo, goes
    assert memos.size == stays.size == 60 + 2 * OVERHEAD


def test_what_is_too_big_is_not_remembered() -> None:
    memos, memo = Memos(1000), Memo()
    memos.keep(memo, "k", 1, 101)
    assert memos.find(memo, "k") is None


def test_an_object_is_parsed_once() -> None:
    one = entry()
    assert one.parsed()["metadata"] == {"name": "a", "uid": "u-1", "resourceVersion": "5"}
    assert one.parsed() is one.parsed()


async def test_those_who_ask_at_the_same_time_wait_for_the_same() -> None:
    one, made = entry(), 0

    async def make(of: Entry) -> bytes:
        nonlocal made
        made += 1
        await asyncio.sleep(0)
        return of.tail * made

    first = asyncio.create_task(one.made("k", make, len))
    others = [asyncio.create_task(one.made("k", make, len)) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    assert await asyncio.gather(*others) == [one.tail] * 3
    assert await one.made("k", make, len) == one.recall("k") == one.tail
    assert made == 1


async def test_a_failure_is_told_to_all_who_wait_and_not_remembered() -> None:
    one, failures = entry(), [ValueError("no")]

    async def make(of: Entry) -> bytes:
        await asyncio.sleep(0)
        if failures:
            raise failures.pop()
        return b"1"

    results = await asyncio.gather(*(one.made("k", make, len) for _ in range(3)), return_exceptions=True)
    assert [str(result) for result in results] == ["no"] * 3
    assert await one.made("k", make, len) == b"1"
