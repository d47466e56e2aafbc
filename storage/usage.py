"""How many objects some caches have, and their bytes: counted once, then kept with each change.

A write that is under way is counted from `reserve` on, so that many writes at once do not pass a limit together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from storage.cache import ResourceCache
from storage.entry import Change, ChangeType


class _Share:
    """What one cache has."""

    __slots__ = ("_cache", "_usage", "bytes", "end", "objects")

    def __init__(self, usage: Usage, cache: ResourceCache) -> None:
        self._usage, self._cache = usage, cache
        self.objects = self.bytes = 0
        self.end: Callable[[], None] = cache.listen(self.tell)
        self.tell(None)

    def tell(self, change: Change | None) -> None:
        """Takes a change, or (None) counts everything."""
        if change is None:
            objects, size = len(self._cache), sum(each.size for each in self._cache.all_entries())
            self._add(objects - self.objects, size - self.bytes)
            return
        self._usage.told(change.entry.key)
        before = 0 if change.previous is None else change.previous.size
        match change.type:
            case ChangeType.ADDED:
                self._add(1, change.entry.size)
            case ChangeType.MODIFIED:
                self._add(0, change.entry.size - before)
            case ChangeType.DELETED:
                self._add(-1, -before)

    def _add(self, objects: int, size: int) -> None:
        self.objects += objects
        self.bytes += size
        self._usage.objects += objects
        self._usage.bytes += size


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """What a write of a key that is under way adds."""

    key: bytes
    objects: int
    bytes: int


class Usage:
    """The objects of some caches, with those that are being written."""

    def __init__(self) -> None:
        self.objects = self.bytes = 0
        self._shares: dict[bytes, _Share] = {}
        self._reserved: dict[bytes, list[Reservation]] = {}  # by key, the oldest first

    def follow(self, cache: ResourceCache) -> None:
        """Counts a cache, in place of the former one of its prefix."""
        self.leave(cache.spec.prefix)
        self._shares[cache.spec.prefix] = _Share(self, cache)

    def leave(self, prefix: bytes) -> None:
        """Counts the cache of a prefix no more."""
        share = self._shares.pop(prefix, None)
        if share is not None:
            share.end()
            self.objects -= share.objects
            self.bytes -= share.bytes

    def reserve(self, key: bytes, objects: int, size: int) -> Reservation:
        """Counts a write of a key, until a cache has it or until `release`. Each write of a key counts by itself."""
        made = Reservation(key, objects, size)
        self._reserved.setdefault(key, []).append(made)
        self.objects += objects
        self.bytes += size
        return made

    def told(self, key: bytes) -> None:
        """Ends the oldest reservation of a key, because a cache has a change of it. If another write made the change,
        the oldest one fails: its version is no longer the present one.
        """
        if key in self._reserved:
            self.release(self._reserved[key][0])

    def release(self, made: Reservation) -> None:
        """Ends a reservation; does nothing if it has ended."""
        waiting = self._reserved.get(made.key, [])
        if made not in waiting:
            return
        waiting.remove(made)
        if not waiting:
            del self._reserved[made.key]
        self.objects -= made.objects
        self.bytes -= made.bytes
