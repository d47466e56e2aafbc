"""The interface of a store of objects, `Store`: all code that writes objects uses this and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from storage.entry import Entry
from storage.errors import StoredObject


class Swap(NamedTuple):
    """Another object that is written with one, in the same transaction: `expected` is its present revision.

    If it is to stay the `same`, its value has to be this one at whatever revision; it only gets that of the write.
    """

    key: bytes
    value: bytes
    expected: int
    same: bool = False


class Store(Protocol):
    """Objects by key. Keys are whole etcd keys; values are canonical JSON without a resourceVersion.

    A revision is that of the whole store: every write gives it a greater one, and it becomes the object's
    resourceVersion. What is written is seen by every read that starts after the write has returned, but for `cached`.
    A value that can't be read is handed out as a `StoredObject` that is `corrupt`: its `value` raises CorruptObject,
    its revision is good for a comparison.

    Everything that waits may raise Unavailable: a read has not been answered then, a write was not made. Of a write
    that raised Unanswered, which is one, nobody knows whether it was made. After one of REFUSALS it was certainly not.
    """

    def cached(self, key: bytes) -> StoredObject | None:
        """A version that was the most recent one some time ago, at once. None tells nothing at all.

        Raises NotLoaded at a start, before the objects of the resource are there; so do those below.
        """
        ...

    def cached_entry(self, key: bytes) -> Entry | None:
        """As `cached`, with what is remembered of this version: for those who read an object often."""
        ...

    def cached_entries(self, prefix: bytes) -> list[Entry]:
        """All objects under a prefix that ends in "/" as `cached` has them, at once, in key order."""
        ...

    async def get(self, key: bytes) -> StoredObject | None:
        """The most recent version, asked of where it is kept; None if there is none."""
        ...

    async def latest(self, key: bytes) -> StoredObject | None:
        """As `get`, out of the cache where that can be known to be up to date: cheaper among many."""
        ...

    async def list(self, prefix: bytes) -> list[StoredObject]:
        """All objects under a prefix that ends in "/", most recent, in key order."""
        ...

    async def create(self, key: bytes, value: bytes, lease: int = 0, beside: Sequence[Swap] = ()) -> int:
        """Puts a key that is not there; its revision.

        The object lives as long as the lease, if one is given. What is `beside` it is written with it or nothing is.
        Raises KeyExists with what is there, BesideChanged, TooLarge, NoSpace.
        """
        ...

    async def update(self, key: bytes, value: bytes, expected: int, lease: int = 0, beside: Sequence[Swap] = ()) -> int:
        """Replaces the version of the revision `expected`, under the lease or (0) none; the new revision.

        What is `beside` it is written with it or nothing is. Raises Conflict with what is there instead, BesideChanged,
        TooLarge, NoSpace.
        """
        ...

    async def is_stale(self, key: bytes) -> bool:
        """Whether the present value is kept otherwise than it would be written now: it is to be written anew."""
        ...

    async def delete(self, key: bytes, expected: int) -> int:
        """Deletes the version of the revision `expected`; the deletion's revision.

        Raises Conflict with what is there instead.
        """
        ...
