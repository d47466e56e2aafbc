"""An index finds the same objects as a scan, whatever changes meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.index import MOST, OFTEN
from storage.reads import Page, Reads
from storage.waiters import Interest, InterestKind
from storage.watch_cache import WatchCache
from tests.examples import examples
from tests.unit.storage.canonical import PREFIX, ROOT, SPEC, canonical, key

NAMES = st.sampled_from([(namespace, name) for namespace in ("a", "ab") for name in ("x", "y", "z")])
STEP = st.tuples(NAMES, st.none() | st.sampled_from(["0", "1", "corrupt"]))


def _changed(cache: WatchCache, step: tuple[tuple[str, str], str | None]) -> None:
    (namespace, name), value = step
    resource, revision = cache.of_key(PREFIX + b"x"), cache.reached + 1
    assert resource is not None
    if value is None:
        resource.remove(key(namespace, name), revision)
    else:
        stored = b"{" if value == "corrupt" else canonical(name, labels={"v": value})
        resource.put(key(namespace, name), stored, revision)
    cache.advance(revision)


def _cut(page: Page) -> object:
    return [(each.key, each.revision) for each in page.entries], page.next_key, page.remaining, page.revision


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(STEP, max_size=20),
    st.lists(STEP, max_size=20),
    st.sampled_from([PREFIX, key("a", ""), key("ab", "")]),
    st.integers(0, 3),
    st.sampled_from("01"),
)
async def test_a_page_is_the_same_with_and_without(
    before: list[Any], during: list[Any], prefix: bytes, limit: int, value: str
) -> None:
    cache = WatchCache(ROOT)
    resource, nobody = cache.register(SPEC), Any
    reads = Reads(nobody, cache, nobody)  # type: ignore[arg-type]  # neither is asked
    interest = Interest(InterestKind.LABEL, "v", value)

    def matches(attributes: Any) -> bool:
        return bool(attributes.labels.get("v") == value)

    for step in before:
        _changed(cache, step)
    with patch("storage.cache.FEW", 0):
        while resource.of_interest(prefix, interest) is None and not resource._indexes:
            pass
        for step in during:
            _changed(cache, step)
        await asyncio.gather(*resource._indexes._making)
        found = resource.of_interest(prefix, interest)
        assert found is not None
        readable = [each for each in resource.slice(*resource.bounds(prefix)) if each.readable is each]
        if len(readable) == len(resource.slice(*resource.bounds(prefix))):
            assert _cut(await reads.page(resource, prefix, prefix, limit, matches, interest)) == _cut(
                await reads.page(resource, prefix, prefix, limit, matches)
            )
        unreadable = {each.key for each in resource.slice(*resource.bounds(prefix))} - {each.key for each in readable}
        assert unreadable <= {each.key for each in found}


async def test_what_is_asked_for_is_bounded() -> None:
    cache = WatchCache(ROOT)
    resource = cache.register(SPEC)
    with patch("storage.cache.FEW", 0):
        for label in range(1000):
            for _ in range(OFTEN):
                resource.of_interest(PREFIX, Interest(InterestKind.LABEL, f"l{label}", "x"))
    assert len(resource._indexes._made) <= MOST and len(resource._indexes._asked) <= 64


async def test_starting_over_forgets_it() -> None:
    cache = WatchCache(ROOT)
    resource, interest = cache.register(SPEC), Interest(InterestKind.LABEL, "v", "0")
    with patch("storage.cache.FEW", 0):
        for _ in range(OFTEN):
            resource.of_interest(PREFIX, interest)
        await asyncio.gather(*resource._indexes._making)
        assert resource.of_interest(PREFIX, interest) == []
        resource.start_over()
        resource.load([(key("a", "x"), canonical("x", labels={"v": "0"}), 7)])
        assert resource.of_interest(PREFIX, interest) is None
