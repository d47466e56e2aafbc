"""The stores of a process that has several etcds, each of which keeps other resources: which one has a key."""

from __future__ import annotations

from collections.abc import Iterable

from storage.entry import Entry
from storage.store import EtcdStore


class Stores:
    """Finds the store of a key: that whose cache has the key's resource, `main` for keys of no resource."""

    __slots__ = ("_others", "main")

    def __init__(self, main: EtcdStore, others: Iterable[EtcdStore] = ()) -> None:
        """To be asked once all resources are registered in the caches."""
        self.main = main
        self._others = tuple(dict.fromkeys(others))

    @property
    def all(self) -> tuple[EtcdStore, ...]:
        """Each once, that of most resources first."""
        return (self.main, *self._others)

    def of(self, key: bytes) -> EtcdStore:
        """Where an object is, or would be."""
        for store in self._others:
            if store.cache.of_key(key) is not None:
                return store
        return self.main

    def of_collection(self, prefix: bytes) -> EtcdStore:
        """Where the objects are whose keys start with a prefix that ends in "/"."""
        return self.of(prefix + b"x") if self._others else self.main

    def cached_entry(self, key: bytes) -> Entry | None:
        """As the store's own."""
        return self.of(key).cached_entry(key)

    def cached_entries(self, prefix: bytes) -> list[Entry]:
        """As the store's own."""
        return self.of_collection(prefix).cached_entries(prefix)
