"""`Store`, the interface of a store of objects: all code that writes objects uses only this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from storage.entry import Entry
from storage.errors import StoredObject


class Swap(NamedTuple):
    """A second object that the transaction of a write puts too. `expected` is its present mod revision.

    With `same`, the transaction compares its present value with `value` instead of the mod revision: the value stays,
    and only its mod revision changes.
    """

    key: bytes
    value: bytes
    expected: int
    same: bool = False


class Store(Protocol):
    """Objects by key. Keys are whole etcd keys; values are canonical JSON without a resourceVersion.

    A revision counts the writes of the whole store: each write gets a greater one, and it becomes the object's
    resourceVersion. A read that starts after a write has returned sees that write; the `cached` methods may not.
    A value that can't be read is returned as a `corrupt` `StoredObject`: its `value` raises CorruptObject, but its
    revision can be compared.

    All async methods may raise Unavailable: the read was not answered, or the write was not made. The exception is its
    subclass Unanswered: the write may or may not have been made. After an error of REFUSALS it was certainly not made.
    """

    def cached(self, key: bytes) -> StoredObject | None:
        """The version in the cache, without waiting: it may be stale. None does not prove that there is no object.

        All `cached` methods raise NotLoaded after a start, until the cache has the objects of the resource.
        """
        ...

    def cached_entry(self, key: bytes) -> Entry | None:
        """As `cached`, but the cache's entry, with the memo of this version: for code that reads an object often."""
        ...

    def cached_entries(self, prefix: bytes) -> list[Entry]:
        """The cache's entries of all objects under a prefix that ends in "/", in key order, without waiting."""
        ...

    async def get(self, key: bytes) -> StoredObject | None:
        """The most recent version, read from etcd; None if there is none."""
        ...

    async def latest(self, key: bytes) -> StoredObject | None:
        """As `get`, but from the cache once that is known to be up to date: cheaper with many concurrent callers."""
        ...

    async def list(self, prefix: bytes) -> list[StoredObject]:
        """The most recent versions of all objects under a prefix that ends in "/", in key order."""
        ...

    async def create(self, key: bytes, value: bytes, lease: int = 0, beside: Sequence[Swap] = ()) -> int:
        """Puts a key that does not exist. Returns the revision of the write.

        With a lease (not 0), etcd deletes the object when the lease ends. The same transaction writes the objects
        `beside`. Raises KeyExists with the present version, BesideChanged, TooLarge, NoSpace.
        """
        ...

    async def update(self, key: bytes, value: bytes, expected: int, lease: int = 0, beside: Sequence[Swap] = ()) -> int:
        """Replaces the version whose mod revision is `expected`. Lease 0 is none. Returns the new revision.

        The same transaction writes the objects `beside`. Raises Conflict with the present version, BesideChanged,
        TooLarge, NoSpace.
        """
        ...

    async def is_stale(self, key: bytes) -> bool:
        """Whether etcd has the value in an outdated form, such as under an old encryption key, and needs a rewrite."""
        ...

    async def delete(self, key: bytes, expected: int) -> int:
        """Deletes the version whose mod revision is `expected`. Returns the revision of the deletion.

        Raises Conflict with the present version.
        """
        ...
