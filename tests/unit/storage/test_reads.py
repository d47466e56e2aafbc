"""Pages out of the cache, present and past, against a naive model that keeps every state."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.entry import Entry, LabelsAndFields
from storage.etcd import KeyValue, RangeResult
from storage.reads import Match, Page, Reads
from storage.watch_cache import WatchCache
from tests.examples import examples
from tests.unit.storage.canonical import PREFIX, ROOT, SPEC, canonical, key, label

NAMES = st.sampled_from([(namespace, name) for namespace in ("a", "a-b", "ab") for name in ("x", "y", "z-1", "z.1")])
STEPS = st.lists(st.tuples(NAMES, st.none() | st.sampled_from("012")), min_size=1, max_size=30)
PREFIXES = st.sampled_from([PREFIX, key("a", ""), key("ab", ""), key("none", "")])
MATCHES = st.none() | st.sampled_from("012").map(lambda wanted: lambda found: found.labels["v"] == wanted)
FIRST = 100  # the revision of the first step
State = dict[bytes, str]


class PastEtcd:
    """Ranges over the states of a model, as etcd answers them."""

    def __init__(self, states: list[State]) -> None:
        self.states = states
        self.asked = 0

    async def range(self, start: bytes, end: bytes, *, limit: int = 0, revision: int = 0) -> RangeResult:
        self.asked += 1
        state = self.states[(revision or FIRST + len(self.states) - 1) - FIRST]
        keys = sorted(each for each in state if start <= each < end)
        found = [KeyValue(each, canonical("n", labels={"v": state[each]}), revision, 0, 0) for each in keys]
        return RangeResult(found[:limit] if limit else found, FIRST + len(self.states) - 1, len(keys), bool(limit))


class Model:
    """A cache that has seen some steps, and all the states in between."""

    def __init__(self, steps: list[tuple[tuple[str, str], str | None]], kept: int = 1 << 30) -> None:
        watch_cache = self.cache = WatchCache(ROOT)
        self.resource = watch_cache.register(SPEC)
        self.states: list[State] = [{}]
        self.newest = FIRST
        for step in steps:
            self.go_on(step)
        self.resource.history.start = max(FIRST, self.newest - kept)
        etcd: Any = PastEtcd(self.states)
        unused: Any = None
        self.etcd = etcd
        self.reads = Reads(etcd, watch_cache, unused)

    def go_on(self, step: tuple[tuple[str, str], str | None]) -> None:
        (namespace, name), value = step
        state, at = dict(self.states[-1]), key(namespace, name)
        self.newest += 1
        if value is None:
            state.pop(at, None)
            self.resource.remove(at, self.newest)
        else:
            state[at] = value
            self.resource.put(at, canonical(name, labels={"v": value}), self.newest)
        self.states.append(state)
        self.cache.advance(self.newest)

    def expected(self, revision: int, prefix: bytes, match: Match | None) -> list[tuple[bytes, str]]:
        state = self.states[revision - FIRST]
        return [
            (at, state[at])
            for at in sorted(state)
            if at.startswith(prefix) and (match is None or match(LabelsAndFields({"v": state[at]}, {})))
        ]


def seen(entries: list[Entry]) -> list[tuple[bytes, str]]:
    return [(each.key, label(each.tail)) for each in entries]


@settings(max_examples=examples(60), deadline=None)
@given(STEPS, st.integers(0, 40), PREFIXES, MATCHES, st.data())
async def test_a_list_at_a_revision_is_what_was_there(
    steps: list[Any], kept: int, prefix: bytes, match: Match | None, data: st.DataObject
) -> None:
    """By undoing changes, or by asking etcd where the history does not go back so far."""
    model = Model(steps, kept)
    revision = data.draw(st.integers(FIRST, model.newest))
    page = await model.reads.page_at(model.resource, prefix, prefix, 0, match, revision)
    assert seen(page.entries) == model.expected(revision, prefix, match)
    assert (page.revision, page.next_key, page.remaining) == (revision, None, 0)
    assert bool(model.etcd.asked) == (revision < model.resource.history.start)


@settings(max_examples=examples(60), deadline=None)
@given(STEPS, st.integers(0, 40), PREFIXES, MATCHES, st.integers(1, 5), st.data())
async def test_chunks_cover_the_snapshot_exactly_once(
    steps: list[Any], kept: int, prefix: bytes, match: Match | None, limit: int, data: st.DataObject
) -> None:
    model = Model(steps, kept)
    revision = data.draw(st.integers(FIRST, model.newest))
    keys = [at for at, _ in model.expected(revision, prefix, None)]
    found: list[tuple[bytes, str]] = []
    start: bytes | None = prefix
    while start is not None:
        page = await model.reads.page_at(model.resource, prefix, start, limit, match, revision)
        assert len(page.entries) <= limit and page.revision == revision
        found += seen(page.entries)
        start = page.next_key
        if start is not None:
            assert page.remaining == len(keys) - bisect_left(keys, start) > 0
    assert found == model.expected(revision, prefix, match)


@settings(max_examples=examples(100), deadline=None)
@given(STEPS, st.lists(STEPS, max_size=10), PREFIXES, MATCHES, st.integers(1, 5), st.integers(0, 2), st.data())
async def test_chunks_are_of_one_snapshot_whatever_changes_between_them(
    steps: list[Any],
    later: list[list[Any]],
    prefix: bytes,
    match: Match | None,
    limit: int,
    few: int,
    data: st.DataObject,
) -> None:
    model = Model(steps)
    revision = data.draw(st.integers(FIRST, model.newest))
    keys = [at for at, _ in model.expected(revision, prefix, None)]
    found: list[tuple[bytes, str]] = []
    start: bytes | None = prefix
    with patch("storage.undo.FEW", few):
        while start is not None:
            page = await model.reads.page_at(model.resource, prefix, start, limit, match, revision)
            found += seen(page.entries)
            start = page.next_key
            assert page.remaining == (0 if start is None else len(keys) - bisect_left(keys, start))
            for step in later.pop() if later else []:
                model.go_on(step)
    assert found == model.expected(revision, prefix, match)
    assert not model.etcd.asked


@settings(max_examples=examples(60), deadline=None)
@given(STEPS, PREFIXES, MATCHES, st.integers(0, 5), st.data())
async def test_the_cache_and_etcd_cut_the_same_pages(
    steps: list[Any], prefix: bytes, match: Match | None, limit: int, data: st.DataObject
) -> None:
    model = Model(steps)
    start = data.draw(st.sampled_from([prefix, *(at + b"\0" for at, _ in model.expected(model.newest, prefix, None))]))
    ours = await model.reads.page(model.resource, prefix, start, limit, match)
    etcds = await model.reads.page_direct(model.resource, prefix, start, limit, match)

    def cut(page: Page) -> object:
        return seen(page.entries), page.next_key, page.remaining, page.revision

    assert cut(ours) == cut(etcds)
    assert ours.present and not etcds.present


async def test_only_the_present_state_counts_as_such() -> None:
    model = Model([(("a", "x"), "0"), (("a", "x"), "1"), (("ab", "x"), "0")])
    changed_since = await model.reads.page_at(model.resource, key("a", ""), key("a", ""), 0, None, FIRST + 1)
    unchanged_since = await model.reads.page_at(model.resource, key("a", ""), key("a", ""), 0, None, FIRST + 2)
    assert (changed_since.present, unchanged_since.present) == (False, True)
    assert unchanged_since.revision == FIRST + 2


class Slow:
    """A cache that reaches the next revision in each wait, so many times."""

    def __init__(self, cache: WatchCache, moves: int) -> None:
        self.cache, self.moves, self.waits = cache, moves, 0

    async def wait_for(self, revision: int, seconds: float) -> bool:
        self.waits += 1
        if self.waits <= self.moves:
            self.cache.advance(self.cache.reached + 1)
        return self.cache.reached >= revision


@pytest.mark.parametrize(("moves", "seen", "waits"), [(3, True, 3), (1, False, 2), (0, False, 1)])
async def test_an_own_write_is_waited_for_while_the_cache_moves(moves: int, seen: bool, waits: int) -> None:
    cache = WatchCache(ROOT)
    cache.advance(FIRST)
    slow: Any = Slow(cache, moves)
    unused: Any = None
    reads = Reads(unused, cache, slow)
    assert (await reads.wait_for_write(FIRST + 3), slow.waits) == (seen, waits)
    assert await reads.wait_for_write(FIRST) and slow.waits == waits
