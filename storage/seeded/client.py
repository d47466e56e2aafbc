"""etcd as it would be if the seeds of a part were stored: reads, writes and watches below the root of the part.

A key without a seed costs nothing but a look at the list of seeds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from heapq import merge
from operator import attrgetter
from typing import Any

from storage.errors import Compacted
from storage.etcd import PUT, EtcdClient, KeyEvent, KeyValue, Watch
from storage.etcd.kv import KV, Beside, Guard
from storage.etcd.results import RangeResult, SwapResult
from storage.keys import prefix_end
from storage.seeded.seeds import Seeds
from storage.seeded.watch import SeededWatch
from storage.seeded.writes import Unmarked, Writes

_KEY = attrgetter("key")


def in_etcd(event: KeyEvent, seeds: Seeds | None) -> KeyEvent:
    """The event of a watch on etcd that stands for a put, which may be that of a seed at the beginning."""
    of_seed = seeds is not None and event.kv.mod_revision == seeds.revision and seeds.place(event.kv.key) >= 0
    return KeyEvent(PUT, seeds.born, None) if seeds is not None and of_seed else event


class SeededClient(EtcdClient):
    """The client of one part, on the connections of another client. Methods that it does not name are as there."""

    def __init__(self, of: EtcdClient, seeds: Seeds) -> None:
        known = {name: value for name, value in vars(of).items() if name not in vars(SeededClient)}
        vars(self).update(known)  # nothing is opened or closed here
        unmarked: Unmarked = partial(_unmarked, of.kv, seeds)  # no method of this one, which would be a cycle
        self._seeds, self._unmarked, self._writes = seeds, unmarked, Writes(of, seeds, unmarked)

    async def range(
        self,
        key: bytes,
        range_end: bytes = b"",
        *,
        revision: int = 0,
        limit: int = 0,
        count_only: bool = False,
        keys_only: bool = False,
        serializable: bool = False,
        timeout: float | None = None,
    ) -> RangeResult:
        self._check(revision)
        found = await self.kv.range(
            key,
            range_end,
            revision=revision,
            limit=limit,
            count_only=count_only,
            keys_only=keys_only,
            serializable=serializable,
            timeout=timeout,
        )
        unmarked = await self._unmarked(self._seeds.between(key, range_end), revision or found.revision, timeout)
        if not unmarked:
            return found
        stored = {kv.key: kv for kv in found.kvs}
        # Another program may have written one. Of those after a page, that is not known: then the count is too high.
        unmarked = [each for each in unmarked if each not in stored]
        count = found.count + len(unmarked)
        if count_only:
            return RangeResult([], found.revision, count, found.more)
        keys = sorted((*stored, *unmarked))[: limit or None]
        kvs = [stored.get(each) or self._seed(each, keys_only) for each in keys]
        return RangeResult(kvs, found.revision, count, count > len(kvs) if limit else found.more)

    async def prefix(self, prefix: bytes, **options: Any) -> RangeResult:
        return await self.range(prefix or b"\0", prefix_end(prefix), **options)

    async def get(self, key: bytes, *, timeout: float | None = None) -> KeyValue | None:
        found = await self.range(key, timeout=timeout)
        return found.kvs[0] if found.kvs else None

    async def stream(self, key: bytes, range_end: bytes, *, revision: int) -> AsyncGenerator[list[KeyValue]]:
        self._check(revision)
        left = [self._seed(each) for each in await self._unmarked(self._seeds.between(key, range_end), revision)]
        async with aclosing(self.kv.stream(key, range_end, revision=revision)) as parts:
            async for kvs in parts:
                place = bisect_right(left, kvs[-1].key, key=_KEY)
                before, left = left[:place], left[place:]
                stored = {kv.key for kv in kvs} if before else ()
                yield [*merge([kv for kv in before if kv.key not in stored], kvs, key=_KEY)] if before else kvs
        if left:
            yield left

    def _check(self, revision: int) -> None:
        """Raises Compacted for a revision before the last restore: the part had other objects then."""
        if 0 < revision < self._seeds.since:
            raise Compacted(self._seeds.since + 1, revision)

    def _seed(self, key: bytes, keys_only: bool = False) -> KeyValue:
        found = self._seeds.get(key)
        assert found is not None, "it is the key of a seed"
        return found._replace(value=b"") if keys_only else found

    def watch(
        self,
        key: bytes,
        range_end: bytes = b"",
        *,
        start_revision: int = 0,
        prev_kv: bool = False,
        progress_notify: bool = False,
        own_stream: bool = False,
    ) -> Watch:
        self._check(start_revision - 1)
        seeds = self._seeds
        seeded = bool(seeds.between(key, range_end))
        watch = self._watches.watch(
            *((seeds.root, prefix_end(seeds.root)) if seeded else (key, range_end)),
            start_revision=start_revision,
            prev_kv=prev_kv,
            progress_notify=progress_notify,
            own_stream=own_stream,
        )
        return SeededWatch(watch, seeds, key, range_end) if seeded else watch

    # writes

    async def delete_if(
        self, key: bytes, mod_revision: int, *, guard: Guard | None = None, timeout: float | None = None
    ) -> SwapResult:
        return await self._writes.delete_if(key, mod_revision, guard=guard, timeout=timeout)

    async def create(
        self,
        key: bytes,
        value: bytes,
        *,
        lease: int = 0,
        guard: Guard | None = None,
        beside: Sequence[Beside] = (),
        timeout: float | None = None,
    ) -> SwapResult:
        return await self._writes.put(key, value, 0, lease, guard, beside, timeout)

    async def update(
        self,
        key: bytes,
        value: bytes,
        mod_revision: int,
        *,
        lease: int = 0,
        guard: Guard | None = None,
        beside: Sequence[Beside] = (),
        timeout: float | None = None,
    ) -> SwapResult:
        return await self._writes.put(key, value, mod_revision, lease, guard, beside, timeout)

    async def write(
        self, puts: Iterable[tuple[bytes, bytes]], deletes: Iterable[bytes], *, timeout: float | None = None
    ) -> int:
        puts, deletes, seeds = list(puts), list(deletes), self._seeds
        changed = [key for key in (*(key for key, _ in puts), *deletes) if seeds.place(key) >= 0]
        return await self.kv.write([*puts, *((seeds.mark_of(key), b"") for key in changed)], deletes, timeout=timeout)


async def _unmarked(
    kv: KV, seeds: Seeds, keys: Sequence[bytes], revision: int = 0, timeout: float | None = None
) -> list[bytes]:
    """The keys, of these sorted keys of seeds, that have no change up to a revision, or (0) until now."""
    if not keys or 0 < revision < seeds.revision:
        return []
    mark, last = seeds.mark_of(keys[0]), seeds.mark_of(keys[-1])
    end = last + b"\0" if len(keys) > 1 else b""
    found = await kv.range(mark, end, revision=revision, keys_only=True, timeout=timeout)
    marked = {kv.key for kv in found.kvs}
    return [key for key in keys if seeds.mark_of(key) not in marked]
