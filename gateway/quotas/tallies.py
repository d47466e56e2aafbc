"""Sums of what objects use, for quotas: computed once, and updated with each change.

Tallies get each change in the turn of the event loop in which the watch cache applies it. They update their
sums later, in time slices, but always before a sum is read. So a sum is exactly that of the cache's revision.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from weakref import ReferenceType, WeakMethod, ref

from gateway.jsontypes import loads
from gateway.quotas.amounts import ZERO, Amounts, bounded
from gateway.quotas.evaluator import Classes, Evaluator
from gateway.quotas.evaluators import pods
from gateway.quotas.scopes import ScopeSelector
from gateway.schema.quantity import Quantity
from storage.cache import ResourceCache
from storage.entry import Change, Entry
from storage.guard import guarded

SLICE = 0.002  # seconds of work between turns of other tasks
AT_ONCE = 16  # objects that are counted without a look at the time

Usage = tuple[tuple[str, Quantity], ...]


class Tally:
    """The sum of what a resource's objects in a namespace use, as far as the scope selectors select them."""

    def __init__(
        self, cache: ResourceCache, namespace: str, evaluator: Evaluator, selectors: Sequence[ScopeSelector]
    ) -> None:
        self._cache, self._evaluator, self._selectors = cache, evaluator, selectors
        self._collection = cache.spec.prefix + namespace.encode() + b"/"
        self._total: dict[str, Quantity] = {}
        self._used: dict[bytes, Usage] = {}
        self._usages: dict[tuple[tuple[str, str], ...], Usage] = {}  # objects of one template share theirs
        self._dirty: dict[bytes, None] = {}
        self._anew: Iterator[bytes] | None = None  # keys that are left in a full count
        self._due: dict[bytes, float] = {}  # pods that are being deleted, and when they count no more
        self.start_over()

    def start_over(self) -> None:
        """Begins a full count."""
        first, last = self._cache.bounds(self._collection)
        self._anew = self._everything(tuple(self._used), self._cache.all_keys()[first:last])

    def _everything(self, counted: Sequence[bytes], there: Sequence[bytes]) -> Iterator[bytes]:
        """Yields the keys of `counted` objects that are gone, then those of all objects that exist.

        For a counted object that still exists it yields b"", so that the caller can pause.
        """
        for key in counted:
            yield key if self._cache.get(key) is None else b""
        yield from there

    def touch(self, key: bytes) -> bool:
        """Notes that an object has changed. Returns whether it is of this resource and namespace."""
        if not key.startswith(self._collection):
            return False
        self._dirty[key] = None
        return True

    @property
    def is_current(self) -> bool:
        """Whether the sum is up to date."""
        return not self._dirty and self._anew is None

    @property
    def next_due(self) -> float | None:
        """The next time (seconds since 1970) at which a pod counts no more without a write; None if there is none."""
        return min(self._due.values(), default=None)

    async def settle(self, classes: Classes, now: float) -> None:
        """Updates the sum by all changes, also by changes during this call. Other tasks run between time slices.

        `now` is in seconds since 1970.
        """
        for key in [key for key, due in self._due.items() if due < now]:
            self._dirty[key] = None
        pause, count = time.monotonic() + SLICE, 0
        while not self.is_current:
            if key := self._next():
                self._take_in(key, classes)
            count += 1
            if count > AT_ONCE and time.monotonic() > pause:
                await asyncio.sleep(0)
                pause = time.monotonic() + SLICE

    def _next(self) -> bytes:
        """The key of the next object to count; b"" if there is none yet."""
        if self._dirty:
            return self._dirty.popitem()[0]
        for key in self._anew or ():
            return key
        self._anew = None
        return b""

    def total(self, names: Sequence[str]) -> Amounts:
        """The sums of these names."""
        return {name: self._total.get(name, ZERO) for name in names}

    def _take_in(self, key: bytes, classes: Classes) -> None:
        before = self._used.pop(key, ())
        self._due.pop(key, None)
        entry = self._cache.get(key)
        readable = None if entry is None else entry.readable
        after: Usage = ()
        if readable is not None:
            with guarded("resource-quotas", readable):
                after = self._usage(readable, classes)
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
        # in a full count, caching each parsed object would evict others and keep Python's garbage collector busy
        obj = entry.parsed() if self._anew is None else loads(entry.head + entry.tail)
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
    """All tallies, by the watch cache of their resource, which sends them its changes."""

    def __init__(self, changed: Callable[[Change], None]) -> None:
        """`changed` is a bound method, which gets each change to a counted object. It is held by a weak reference."""
        self._changed = WeakMethod(changed)
        self._by_cache: dict[ResourceCache, dict[tuple[str, tuple[ScopeSelector, ...]], Tally]] = {}
        self._ends: dict[ResourceCache, Callable[[], None]] = {}

    def of(
        self, cache: ResourceCache, namespace: str, evaluator: Evaluator, selectors: tuple[ScopeSelector, ...]
    ) -> Tally:
        """The tally of a resource's objects in a namespace that the selectors select; made if there is none."""
        found = self._by_cache.get(cache)
        if found is None:
            found = self._by_cache[cache] = {}
            self._ends[cache] = _listen(cache, ref(self))
        tally = found.get((namespace, selectors))
        if tally is None:
            tally = found[namespace, selectors] = Tally(cache, namespace, evaluator, selectors)
        return tally

    def keep(self, wanted: set[Tally]) -> None:
        """Keeps the `wanted` tallies whose cache is open, and drops all others."""
        for cache in list(self._by_cache):
            kept = {place: tally for place, tally in self._by_cache[cache].items() if tally in wanted}
            if kept and not cache.closed:
                self._by_cache[cache] = kept
            else:
                del self._by_cache[cache]
                self._ends.pop(cache)()

    def start_over(self) -> None:
        """Begins a full count for all tallies."""
        for tallies in self._by_cache.values():
            for tally in tallies.values():
                tally.start_over()

    def tell(self, cache: ResourceCache, change: Change | None) -> None:
        """Takes a change to an object of a cache; None if the cache was loaded again."""
        tallies = self._by_cache.get(cache, {}).values()
        if change is None:
            for tally in tallies:
                tally.start_over()
        elif sum(tally.touch(change.key) for tally in tallies):
            told = self._changed()
            if told is not None:
                told(change)


def _listen(cache: ResourceCache, told: ReferenceType[Tallies]) -> Callable[[], None]:
    """Sends a cache's changes to the tallies, until they are freed. Returns the function that ends this."""

    def tell(change: Change | None) -> None:
        tallies = told()
        if tallies is None:
            end()
        else:
            tallies.tell(cache, change)

    end = cache.listen(tell)
    return end
