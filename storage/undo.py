"""A resource as it was at an older revision that its history still has, in ranges of keys: for lists in chunks.

The entries that later changes have replaced are computed once per revision and kept for the following pages. So the
cost of a page depends only on its length.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Protocol

from storage.entry import Entry
from storage.history import History, Overrun
from storage.keys import prefix_end

KEPT = 30.0  # seconds
MOST = 4  # revisions that are kept per resource
FEW = 64  # changed keys up to which each is inserted alone; for more, the lists are rebuilt


class PresentState(Protocol):
    """The present state of a resource, from which changes are undone: a `ResourceCache`."""

    @property
    def history(self) -> History:
        """The recent changes."""

    def get(self, key: bytes) -> Entry | None:
        """The entry of a key."""

    def bounds(self, prefix: bytes) -> tuple[int, int]:
        """The range of indices, in key order, of the keys under a prefix."""

    def index_of(self, key: bytes) -> int:
        """The index of the first key that is not before `key`."""

    def slice(self, start: int, end: int) -> list[Entry]:
        """The entries between two indices, in key order."""


class Undone:
    """For each key that has changed since a revision: its entry at that revision, None if it did not exist."""

    def __init__(self, resource: PresentState, revision: int) -> None:
        """Raises Overrun if the history begins later."""
        self.resource = resource
        self.before: dict[bytes, Entry | None] = {}
        self.keys: list[bytes] = []  # of these, in order
        self.more: list[int] = []  # per key: 1 if only the old state has it, -1 if only the present state, else 0
        self._position = resource.history.position_after(revision)

    def extend(self) -> None:
        """Adds the changes since the last call. Raises Overrun."""
        history, before = self.resource.history, self.before
        new: list[bytes] = []
        touched: set[bytes] = set()
        for change in history.between(self._position, history.end):
            key = change.key
            touched.add(key)
            if key not in before:
                before[key] = change.previous
                new.append(key)
        self._position = history.end
        if len(touched) > FEW:
            self.keys = sorted(before)
            self.more = list(map(self._more, self.keys))
            return
        for key in new:
            index = bisect_left(self.keys, key)
            self.keys.insert(index, key)
            self.more.insert(index, 0)
        for key in touched:
            self.more[bisect_left(self.keys, key)] = self._more(key)

    def _more(self, key: bytes) -> int:
        return (self.before[key] is not None) - (self.resource.get(key) is not None)

    def range(self, prefix: bytes, start: bytes) -> KeyRange | None:
        """The old entries under a prefix, from the key `start` on; None if nothing has changed there since."""
        end = prefix_end(prefix)
        first, last = bisect_left(self.keys, max(prefix, start)), bisect_left(self.keys, end)
        if first == last:
            return None
        low, high = self.resource.bounds(prefix)
        if start > prefix:
            low = max(low, self.resource.index_of(start))
        return KeyRange(self, low, high, first, last)


class KeyRange:
    """The old entries of a range of keys. Use the result in the same turn of the event loop, because it reads the
    present state too.
    """

    def __init__(self, undone: Undone, low: int, high: int, first: int, last: int) -> None:
        self._undone, self._low, self._high, self._first, self._last = undone, low, high, first, last
        self.total = high - low + sum(undone.more[first:last])

    def first(self, limit: int) -> list[Entry]:
        """The first `limit` entries, in key order."""
        undone, resource = self._undone, self._undone.resource
        present = (
            entry
            for low in range(self._low, self._high, limit)
            for entry in resource.slice(low, min(low + limit, self._high))
        )
        old = (undone.before[undone.keys[index]] for index in range(self._first, self._last))
        return list(islice(_merged(present, old, undone.before), limit))

    def entries(self) -> Iterator[Entry]:
        """All entries, in key order. Changes during the iteration have no effect on it."""
        undone = self._undone
        before = {key: undone.before[key] for key in undone.keys[self._first : self._last]}
        return _merged(undone.resource.slice(self._low, self._high), before.values(), before)


def _merged(
    present: Iterable[Entry], old: Iterable[Entry | None], before: Mapping[bytes, Entry | None]
) -> Iterator[Entry]:
    unchanged = (entry for entry in present if entry.key not in before)
    return merge(unchanged, (entry for entry in old if entry is not None), key=_key_of)


_key_of = attrgetter("key")


class Undoings:
    """The `Undone`s of one resource, for the revisions of the last requests."""

    def __init__(self) -> None:
        self._found: dict[int, Undone] = {}

    def at(self, resource: PresentState, revision: int) -> Undone:
        """The resource as it was at a revision. Raises Overrun if the history begins later."""
        found = self._found.pop(revision, None)
        try:
            if found is not None:
                found.extend()
        except Overrun:
            found = None
        if found is None:
            found = Undone(resource, revision)
            found.extend()
            asyncio.get_running_loop().call_later(KEPT, self._found.pop, revision, None)
        while len(self._found) >= MOST:
            del self._found[next(iter(self._found))]
        self._found[revision] = found
        return found
