"""What there is of what quotas limit: counted once, and from then on as objects change.

Told of each change in the turn in which the cache applies it; what that makes of the sums is worked out later, in small
pieces, but always before a sum is looked at. So a sum is exactly that of the revision which the cache has reached.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from weakref import ReferenceType, ref

from gateway.quotas.amounts import ZERO, Amounts, bounded
from gateway.quotas.evaluator import Classes, Evaluator
from gateway.quotas.evaluators import pods
from gateway.quotas.scopes import ScopeSelector
from gateway.schema.quantity import Quantity
from storage.cache import ResourceCache
from storage.entry import Change, Entry

SLICE = 0.002  # seconds of work between turns of others
AT_ONCE = 16  # objects that are looked at without giving way

Usage = tuple[tuple[str, Quantity], ...]


class Tally:
    """The sum of what the objects of a resource in a namespace use, of those in some scopes."""

    def __init__(
        self, cache: ResourceCache, namespace: str, evaluator: Evaluator, selectors: Sequence[ScopeSelector]
    ) -> None:
        self._cache, self._evaluator, self._selectors = cache, evaluator, selectors
        self._collection = cache.spec.prefix + namespace.encode() + b"/"
        self._total: dict[str, Quantity] = {}
        self._used: dict[bytes, Usage] = {}
        self._usages: dict[tuple[tuple[str, str], ...], Usage] = {}  # objects of one template share theirs
        self._dirty: dict[bytes, None] = {}
        self._due: dict[bytes, float] = {}  # pods that are being deleted, and when they count no more
        self.start_over()

    def start_over(self) -> None:
        """Counts everything anew."""
        first, last = self._cache.bounds(self._collection)
        self._dirty = {entry.key: None for entry in self._cache.slice(first, last)} | dict.fromkeys(self._used)

    def touch(self, key: bytes) -> bool:
        """Notes that an object has changed; whether it is one of these."""
        if not key.startswith(self._collection):
            return False
        self._dirty[key] = None
        return True

    @property
    def settled(self) -> bool:
        """Whether the sum is that of the present state."""
        return not self._dirty

    @property
    def next_due(self) -> float | None:
        """When (seconds since 1970) something counts no more though nobody writes."""
        return min(self._due.values(), default=None)

    async def settle(self, classes: Classes, now: float) -> None:
        """Takes in what has changed, giving way to others; more may have changed meanwhile."""
        for key in [key for key, due in self._due.items() if due < now]:
            self._dirty[key] = None
        pause, count = time.monotonic() + SLICE, 0
        while self._dirty:
            key = next(iter(self._dirty))
            del self._dirty[key]
            self._take_in(key, classes)
            count += 1
            if count > AT_ONCE and time.monotonic() > pause:
                await asyncio.sleep(0)
                pause = time.monotonic() + SLICE

    def total(self, names: Sequence[str]) -> Amounts:
        """The sum of some names."""
        return {name: self._total.get(name, ZERO) for name in names}

    def _take_in(self, key: bytes, classes: Classes) -> None:
        before = self._used.pop(key, ())
        self._due.pop(key, None)
        entry = self._cache.get(key)
        readable = None if entry is None else entry.readable
        after = () if readable is None else self._usage(readable, classes)
        if after:
            self._used[key] = after
        if after is before:
            return
        total = self._total
        for name, amount in before:
            total[name] = total[name] - amount
        for name, amount in after:
            total[name] = total.get(name, ZERO) + amount

    def _usage(self, entry: Entry, classes: Classes) -> Usage:
        obj = entry.parsed()
        if self._evaluator is pods.EVALUATOR and (due := pods.overdue_at(obj)) is not None and pods.is_counted(obj):
            self._due[entry.key] = due
        if not self._evaluator.is_selected(self._selectors, obj):
            return ()
        used = self._evaluator.usage(obj, classes)
        texts = tuple((name, str(amount)) for name, amount in used.items())
        found = self._usages.get(texts)
        if found is None:
            found = tuple((name, bounded(amount)) for name, amount in used.items())
            if len(self._usages) > len(self._used) + AT_ONCE:
                self._usages.clear()
            self._usages[texts] = found
        return found


class Tallies:
    """All that is counted, by resource; each is told of by its cache."""

    def __init__(self, changed: Callable[[Change], None]) -> None:
        """`changed` is told of each change to an object that is counted."""
        self._changed = changed
        self._by_cache: dict[ResourceCache, dict[tuple[str, tuple[ScopeSelector, ...]], Tally]] = {}
        self._ends: dict[ResourceCache, Callable[[], None]] = {}

    def of(
        self, cache: ResourceCache, namespace: str, evaluator: Evaluator, selectors: tuple[ScopeSelector, ...]
    ) -> Tally:
        """The tally of a resource's objects in a namespace, in some scopes."""
        found = self._by_cache.get(cache)
        if found is None:
            found = self._by_cache[cache] = {}
            self._ends[cache] = _listen(cache, ref(self))
        tally = found.get((namespace, selectors))
        if tally is None:
            tally = found[namespace, selectors] = Tally(cache, namespace, evaluator, selectors)
        return tally

    def keep(self, wanted: set[Tally]) -> None:
        """Lets go of all others, and of those whose cache is gone."""
        for cache in list(self._by_cache):
            kept = {place: tally for place, tally in self._by_cache[cache].items() if tally in wanted}
            if kept and not cache.closed:
                self._by_cache[cache] = kept
            else:
                del self._by_cache[cache]
                self._ends.pop(cache)()

    def start_over(self) -> None:
        """Counts everything anew."""
        for tallies in self._by_cache.values():
            for tally in tallies.values():
                tally.start_over()

    def tell(self, cache: ResourceCache, change: Change | None) -> None:
        """A change to an object of a cache; None where all are loaded anew."""
        tallies = self._by_cache.get(cache, {}).values()
        if change is None:
            for tally in tallies:
                tally.start_over()
        elif sum(tally.touch(change.key) for tally in tallies):
            self._changed(change)


def _listen(cache: ResourceCache, told: ReferenceType[Tallies]) -> Callable[[], None]:
    """Has tallies told of a cache's changes for as long as somebody else needs them."""

    def tell(change: Change | None) -> None:
        tallies = told()
        if tallies is None:
            end()
        else:
            tallies.tell(cache, change)

    end = cache.listen(tell)
    return end
