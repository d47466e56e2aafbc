"""A store in memory with the compare-and-swap of the real one."""

from __future__ import annotations

from collections.abc import Sequence

from storage.entry import MARK, METADATA, CorruptEntry, Entry, entry_of
from storage.errors import Conflict, KeyExists, StoredObject
from storage.protocol import Swap
from storage.watch_cache import WatchCache


class FakeCache(WatchCache):
    def of_key(self, key: bytes) -> None:
        return None


class FakeStore:
    """A `storage.protocol.Store`; its cache shows `stale` instead of the stored values."""

    def __init__(self) -> None:
        self.cache = FakeCache(b"/registry/")
        self.objects: dict[bytes, StoredObject] = {}
        self.stale: dict[bytes, StoredObject | None] = {}
        self.revision = 1
        self.writes = 0

    def cached(self, key: bytes) -> StoredObject | None:
        return self.stale[key] if key in self.stale else self.objects.get(key)

    def cached_entry(self, key: bytes) -> Entry | None:
        stored = self.cached(key)
        return None if stored is None else _entry(stored)

    def cached_entries(self, prefix: bytes) -> list[Entry]:
        keys = sorted(key for key in {*self.objects, *self.stale} if key.startswith(prefix))
        return [_entry(stored) for key in keys if (stored := self.cached(key)) is not None]

    async def latest(self, key: bytes) -> StoredObject | None:
        return await self.get(key)

    async def get(self, key: bytes) -> StoredObject | None:
        return self.objects.get(key)

    async def list(self, prefix: bytes) -> list[StoredObject]:
        return [self.objects[key] for key in sorted(self.objects) if key.startswith(prefix)]

    async def create(self, key: bytes, value: bytes, lease: int = 0, beside: Sequence[Swap] = ()) -> int:
        if key in self.objects:
            raise KeyExists(self.objects[key])
        return self._put(key, value)

    async def update(self, key: bytes, value: bytes, expected: int, lease: int = 0, beside: Sequence[Swap] = ()) -> int:
        current = self.objects.get(key)
        if current is None or current.revision != expected:
            raise Conflict(current)
        return self._put(key, value)

    async def is_stale(self, key: bytes) -> bool:
        return False

    async def delete(self, key: bytes, expected: int) -> int:
        current = self.objects.get(key)
        if current is None or current.revision != expected:
            raise Conflict(current)
        del self.objects[key]
        self.revision += 1
        self.writes += 1
        return self.revision

    def spoil(self, key: bytes, raw: bytes) -> None:
        """Stores an unreadable value."""
        self._put(key, raw)
        self.objects[key] = StoredObject(key, raw, self.revision, "the test says so")

    def _put(self, key: bytes, value: bytes) -> int:
        self.revision += 1
        self.writes += 1
        self.objects[key] = StoredObject(key, value, self.revision)
        return self.revision


def _entry(stored: StoredObject) -> Entry:
    if stored.corrupt:
        return CorruptEntry(stored.key, stored.raw, stored.revision, stored.corrupt)
    value = stored.value if stored.value.endswith(MARK) else stored.value + MARK  # what a test has put there
    return entry_of(stored.key, value, stored.revision, value[: value.index(METADATA)])
