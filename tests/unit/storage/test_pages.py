"""All keys come once and in order, and etcd counts few of them more than once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import pairwise
from typing import Any
from weakref import WeakSet

import pytest
from hypothesis import given
from hypothesis import strategies as some

from storage import pages as pages_module
from storage.errors import StorageError, Unavailable
from storage.etcd import KeyValue
from storage.etcd.results import RangeResult

ROOT = b"/registry/"


class Counting:
    """Answers ranges as etcd does, and knows how many keys it has counted for that."""

    def __init__(self, keys: Sequence[bytes], value: bytes = b"") -> None:
        self.keys, self.value = sorted(keys), value
        self.counted = self.asked = self.largest = 0

    async def range(self, key: bytes, end: bytes, *, limit: int, revision: int) -> RangeResult:
        first, last = bisect_left(self.keys, key), bisect_left(self.keys, end)
        self.counted += last - first
        self.asked += 1
        found = [KeyValue(each, self.value, 1, 1, 1) for each in self.keys[first : min(last, first + limit)]]
        self.largest = max(self.largest, sum(len(each.value) for each in found))
        return RangeResult(revision=revision or 7, kvs=found, more=last - first > limit, count=last - first)

    async def stream(self, key: bytes, end: bytes, *, revision: int) -> AsyncGenerator[list[KeyValue]]:
        raise StorageError("unknown method RangeStream")
        yield []


class Streaming(Counting):
    """An etcd 3.7 whose stream ends with an error after some parts."""

    def __init__(self, keys: Sequence[bytes], ends_after: int) -> None:
        super().__init__(keys)
        self.ends_after, self.closed = ends_after, False

    async def stream(self, key: bytes, end: bytes, *, revision: int) -> AsyncGenerator[list[KeyValue]]:
        assert revision == 7
        found = [KeyValue(each, b"", 1, 1, 1) for each in self.keys if key <= each < end]
        try:
            for number, part in enumerate(batched(found, 2)):
                if number == self.ends_after:
                    raise Unavailable("etcd has gone")
                yield part
        finally:
            self.closed = True


def batched(found: list[KeyValue], size: int) -> list[list[KeyValue]]:
    return [found[start : start + size] for start in range(0, len(found), size)]


async def all_keys(client: Any) -> list[bytes]:
    found = []
    async for revision, kvs in pages_module.pages(client, ROOT):
        assert revision == 7
        found += [kv.key for kv in kvs]
    return found


@given(some.sets(some.binary(max_size=6).map(ROOT.__add__), max_size=80))
async def test_all_keys_come_once_and_in_order(keys: set[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pages_module, "FIRST", 2)
        patched.setattr(pages_module, "LEAST", 2)
        patched.setattr(pages_module, "MOST", 3)
        assert await all_keys(Counting(list(keys))) == sorted(keys)


@given(some.sets(some.binary(max_size=6).map(ROOT.__add__), max_size=80), some.integers(0, 50))
async def test_a_stream_that_ends_early_is_continued_in_pages(keys: set[bytes], parts: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pages_module, "FIRST", 2)
        patched.setattr(pages_module, "LEAST", 2)
        patched.setattr(pages_module, "MOST", 3)
        assert await all_keys(Streaming(list(keys), parts)) == sorted(keys)


async def test_the_rest_is_one_stream_where_etcd_has_it() -> None:
    etcd = Streaming([ROOT + b"%07d" % number for number in range(4000)], ends_after=-1)
    assert len(await all_keys(etcd)) == 4000
    assert etcd.asked == 1 and etcd.closed


async def test_a_stream_ends_with_who_reads_it() -> None:
    etcd = Streaming([ROOT + b"%07d" % number for number in range(4000)], ends_after=-1)
    async with aclosing(pages_module.pages(etcd, ROOT)) as reading:  # type: ignore[type-var]  # it is asked for no more
        async for _, kvs in reading:
            if len(kvs) == 2:
                break
    assert etcd.closed


async def test_keys_that_are_longer_than_what_is_looked_at() -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pages_module, "FIRST", 2)
        patched.setattr(pages_module, "LEAST", 2)
        patched.setattr(pages_module, "MOST", 2)
        keys = [ROOT + b"x" * 300 + b"%d" % number for number in range(10)]
        assert await all_keys(Counting(keys)) == sorted(keys)


@pytest.mark.parametrize(
    "name",
    [b"configmaps/one/m-%07d", b"pods/ns-%d/p", b"pods/ns/%x-x7k2p"],
    ids=["numbered in one namespace", "in a namespace each", "of few characters"],
)
async def test_few_keys_are_counted_more_than_once(name: bytes) -> None:
    others = [ROOT + b"zzz/%d" % number for number in range(2000)]
    etcd = Counting([ROOT + name % number for number in range(400_000)] + others)
    assert len(await all_keys(etcd)) == 402_000
    assert etcd.counted < 12 * len(etcd.keys), "in pages of 500, without ends, it would be 400 times"
    assert etcd.asked < 300


async def test_pages_of_large_objects_have_few_of_them() -> None:
    etcd = Counting([ROOT + b"%07d" % number for number in range(300)], b"x" * 1_400_000)
    assert len(await all_keys(etcd)) == 300
    assert etcd.largest <= pages_module.FIRST * 1_400_000 and pages_module.FIRST <= 32


async def test_the_first_page_does_not_stay_in_memory_while_the_rest_is_read() -> None:
    class Value:
        """Stands for the bytes of a value; no weak reference can be of those."""

        def __len__(self) -> int:
            return 1000

    class Weak(Streaming):
        async def range(self, key: bytes, end: bytes, *, limit: int, revision: int) -> RangeResult:
            found = await super().range(key, end, limit=limit, revision=revision)
            values: list[Any] = [Value() for _ in found.kvs]
            alive.update(values)
            return replace(
                found, kvs=[each._replace(value=value) for each, value in zip(found.kvs, values, strict=True)]
            )

    alive = WeakSet[Any]()
    etcd: Any = Weak([ROOT + b"%07d" % number for number in range(200)], ends_after=-1)
    pages = 0
    async with aclosing(pages_module.pages(etcd, ROOT)) as reading:
        async for _, kvs in reading:
            pages += 1
            if pages > 2:
                assert kvs and not alive


async def test_large_objects_after_small_ones_do_not_come_in_one_page() -> None:
    """A few small keys decide for few others: 3,000 of 1 MB after 32 small ones came in one answer of etcd."""
    etcd = Counting([ROOT + b"%06d" % each for each in range(20_000)])
    limits = list[int]()
    ask = etcd.range

    async def counted(key: bytes, end: bytes, *, limit: int, revision: int) -> RangeResult:
        limits.append(limit)
        return await ask(key, end, limit=limit, revision=revision)

    etcd.range = counted  # type: ignore[method-assign]
    async for _ in pages_module.pages(etcd, ROOT):  # type: ignore[arg-type]
        pass
    assert limits[0] == pages_module.FIRST
    assert all(later <= pages_module.FASTER * earlier for earlier, later in pairwise(limits))
