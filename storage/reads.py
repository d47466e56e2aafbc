"""Reads objects and pages of objects: from the cache where it has them, else from etcd.

API Concepts, "Semantics for get and list": the verbs decide which method a request needs; each method says how recent
its answer is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from storage.cache import ResourceCache
from storage.consistency import EVENTS_WAIT, ConsistentReads
from storage.entry import Entry, LabelsAndFields
from storage.errors import FutureRevision
from storage.etcd import EtcdClient
from storage.history import Overrun
from storage.keys import prefix_end
from storage.metrics import consistent, listed, listed_by_etcd, measured, timed_list
from storage.time_slice import TimeSlice
from storage.waiters import Interest, InterestKind
from storage.watch_cache import WatchCache

Match = Callable[[LabelsAndFields], bool]

PAGE = 500  # keys asked of etcd at once
MAX_PAGE = 10_000
_INDEXES = {InterestKind.FIELD: "f", InterestKind.LABEL: "l"}
OWN_WAIT = 5.0  # seconds that a write waits for a cache that makes no progress towards it
MOST_OWN_WAIT = 30.0  # seconds that it waits for a cache that makes progress
MOST_REVISION = (1 << 63) - 1  # the largest that etcd accepts
FUTURE_WAIT = 3.0  # seconds that a read waits for a resourceVersion that etcd has not reached


class TooLargeRevision(Exception):
    """The requested revision is newer than etcd's."""

    def __init__(self, revision: int, current: int) -> None:
        super().__init__(f"Too large resource version: {revision}, current: {current}")
        self.revision, self.current = revision, current


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a collection in key order, as it was at `revision`."""

    entries: list[Entry]
    revision: int
    next_key: bytes | None = None  # the start of the next page; None if this page is the last
    remaining: int = 0  # keys after this page, whether they match or not
    present: bool = False  # whether the page shows the present state of the cache


class Reads:
    """The read side of storage, shared by all requests of a process."""

    def __init__(self, client: EtcdClient, cache: WatchCache, consistent: ConsistentReads) -> None:
        self._client, self._cache, self._consistent = client, cache, consistent

    @property
    def reached(self) -> int:
        """The revision up to which the cache has seen everything."""
        return self._cache.reached

    async def get(self, resource: ResourceCache, key: bytes) -> Entry | None:
        """The most recent version. Raises Unavailable."""
        if await self.fresh():
            return resource.get(key)
        return await self.get_direct(resource, key)

    async def get_direct(self, resource: ResourceCache, key: bytes) -> Entry | None:
        """The most recent version, read from etcd. Raises Unavailable."""
        found = await measured("get", resource.spec.group_resource, self._client.range(key))
        return resource.entry(key, found.kvs[0].value, found.kvs[0].mod_revision) if found.kvs else None

    async def not_older_than(self, revision: int) -> bool:
        """Waits until the cache has reached a revision. False if etcd has reached it, but the feed can't.

        Raises TooLargeRevision if etcd does not reach it within FUTURE_WAIT seconds, Unavailable.
        """
        if self._cache.reached >= revision or await self._consistent.wait_for(revision, EVENTS_WAIT):
            return True
        if await self._consistent.probe() >= revision:
            return await self._consistent.catch_up(revision)
        if await self._consistent.wait_for(revision, FUTURE_WAIT - EVENTS_WAIT):
            return True
        raise TooLargeRevision(revision, self._cache.reached)

    async def wait_for_write(self, revision: int) -> bool:
        """Waits for the cache to reach the revision of a write of this process; False if it did not.

        The wait ends when the cache makes no progress for OWN_WAIT seconds, or after about MOST_OWN_WAIT seconds.
        """
        end = time.monotonic() + MOST_OWN_WAIT
        while (before := self._cache.reached) < revision:
            if await self._consistent.wait_for(revision, OWN_WAIT):
                return True
            if self._cache.reached == before or time.monotonic() > end:
                return False
        return True

    async def fresh(self) -> bool:
        """Waits until the cache is as new as etcd is now. False if it can't be: read etcd then. Raises Unavailable.

        It can't be if it has reached nothing: then it is empty, as that of a control plane that was put to rest.
        """
        return await self._consistent.fresh() and self._cache.reached > 0

    async def fresh_list(self, resource: ResourceCache) -> bool:
        """As `fresh`, for a list of a resource; the list is counted."""
        cached = await self.fresh()
        consistent(resource.spec.group_resource, cached)
        return cached

    async def page(
        self,
        resource: ResourceCache,
        prefix: bytes,
        start: bytes,
        limit: int,
        match: Match | None,
        interest: Interest | None = None,
    ) -> Page:
        """A page of the cache's present state, from the key `start` on; limit 0 means all.

        The interest is a condition that `match` implies: it only lets an index find the candidates.
        """
        low, high = resource.bounds(prefix)
        if start > prefix:
            low = max(low, resource.index_of(start))
        concerned = resource.of_interest(prefix, interest)
        if concerned is not None:
            few = [entry for entry in concerned if entry.key >= start]
            page, fetched = self._of_few(resource, few, limit, match, high), len(few)
        elif match is None and limit:
            entries = resource.slice(low, min(low + limit, high))
            page, fetched = _cut(entries, self._cache.reached, high - low - len(entries), present=True), len(entries)
        else:
            entries = resource.slice(low, high)
            page = await _select(entries, high - low, self._cache.reached, limit, match, resource, present=True)
            fetched = len(entries)
        listed(
            resource.spec.group_resource,
            "" if concerned is None or interest is None else _index_of(interest),
            fetched,
            len(page.entries),
        )
        return page

    def _of_few(self, resource: ResourceCache, few: list[Entry], limit: int, match: Match | None, high: int) -> Page:
        """A page of the present state from the candidates `few`; `high` is the index at which the whole range ends."""
        labels_and_fields_of = resource.spec.labels_and_fields_of
        kept = [entry for entry in few if match is None or match(entry.labels_and_fields(labels_and_fields_of))]
        if limit and len(kept) >= limit:
            kept = kept[:limit]
            return _cut(kept, self._cache.reached, high - resource.index_of(kept[-1].key) - 1, present=True)
        return Page(kept, self._cache.reached, present=True)

    async def page_at(
        self, resource: ResourceCache, prefix: bytes, start: bytes, limit: int, match: Match | None, revision: int
    ) -> Page:
        """A page of the collection as it was at exactly `revision`.

        If the history reaches back to the revision, the changes since then are undone. Else etcd is asked. etcd is also
        asked for a revision before its last compaction, even if the history has it: continue tokens and exact versions
        expire with the compaction. Raises Compacted, FutureRevision, Unavailable.
        """
        if revision > MOST_REVISION:
            raise FutureRevision(self._cache.reached)
        if self._cache.compacted <= revision <= self._cache.reached:
            try:
                past = resource.undoings.at(resource, revision).range(prefix, start)
            except Overrun:
                pass
            else:
                if past is None:
                    return replace(await self.page(resource, prefix, start, limit, match), revision=revision)
                if match is None and limit:
                    entries = past.first(limit)
                    return _cut(entries, revision, past.total - len(entries))
                return await _select(past.entries(), past.total, revision, limit, match, resource)
        return await self.page_direct(resource, prefix, start, limit, match, revision)

    async def page_direct(
        self, resource: ResourceCache, prefix: bytes, start: bytes, limit: int, match: Match | None, revision: int = 0
    ) -> Page:
        """A page read from etcd, at a revision or (0) the present one. It reads on until the page is full."""
        with timed_list(resource.spec.group_resource):
            return await self._page_direct(resource, prefix, start, limit, match, revision)

    async def _page_direct(
        self, resource: ResourceCache, prefix: bytes, start: bytes, limit: int, match: Match | None, revision: int
    ) -> Page:
        found: list[Entry] = []
        key, size, end = max(start, prefix), min(limit or PAGE, MAX_PAGE), prefix_end(prefix)
        while True:
            asked = self._client.range(key, end, limit=size, revision=revision)
            answer = await measured("list", resource.spec.group_resource, asked)
            revision = revision or answer.revision
            for index, kv in enumerate(answer.kvs):
                if limit and len(found) >= limit:
                    return _cut(found, revision, answer.count - index, after=answer.kvs[index - 1].key)
                entry = resource.entry(kv.key, kv.value, kv.mod_revision)
                if match is None or match(entry.labels_and_fields(resource.spec.labels_and_fields_of)):
                    found.append(entry)
            left = answer.count - len(answer.kvs)
            listed_by_etcd(resource.spec.group_resource, len(answer.kvs), len(found))
            if left <= 0:
                return Page(found, revision)
            last = answer.kvs[-1].key
            if limit and len(found) >= limit:
                return _cut(found, revision, left, after=last)
            key, size = last + b"\0", min(size * 2, MAX_PAGE)


def _index_of(interest: Interest) -> str:
    """The label `index` of the list metrics, as kube-apiserver's: f:NAME for a field, l:NAME for a label, else ""."""
    kind = _INDEXES.get(interest.by)
    return f"{kind}:{interest.name}" if kind else ""


def _cut(
    entries: list[Entry], revision: int, remaining: int, after: bytes | None = None, present: bool = False
) -> Page:
    if remaining <= 0 or not (entries or after):
        return Page(entries, revision, present=present)
    return Page(entries, revision, (after or entries[-1].key) + b"\0", remaining, present)


async def _select(
    entries: Iterable[Entry],
    total: int,
    revision: int,
    limit: int,
    match: Match | None,
    resource: ResourceCache,
    present: bool = False,
) -> Page:
    """A page of the matching entries, up to the limit. Works in time slices, because it may have to parse objects."""
    labels_and_fields_of, kept = resource.spec.labels_and_fields_of, list[Entry]()
    piece = TimeSlice()
    for index, entry in enumerate(entries):
        if match is None or match(entry.labels_and_fields(labels_and_fields_of)):
            kept.append(entry)
            if limit and len(kept) >= limit:
                return _cut(kept, revision, total - index - 1, present=present)
        if not index & 63 and piece.over():
            await piece.next()
    return Page(kept, revision, present=present)
