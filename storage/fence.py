"""Writes that are made only while this process holds a key, such as a lease: each transaction compares its revision.

A process may lose the key without noticing, after a pause or a network partition. Then all its writes fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

from storage.errors import Fenced, WholeDeleted, WholeReplaced
from storage.etcd import EtcdClient
from storage.etcd.kv import Guard
from storage.etcd.operations import is_there, put
from storage.etcd.results import KeyValue

_DELETED = "what the object belongs to has been deleted"
REPLACED = "what the object belongs to has just been restored from a backup"
ANNOUNCED = 30.0  # seconds during which writes may begin after an announcement


class Fence:
    """A key and its mod revision when this process last knew that it held the key; 0 while it does not."""

    def __init__(self, key: bytes, is_ours: Callable[[bytes], bool]) -> None:
        """`is_ours` says whether a value of the key names this process as the holder."""
        self.key, self.revision = key, 0
        self._is_ours = is_ours

    async def announce(self, client: EtcdClient) -> None:
        """Called before each write. Does nothing, because not all fences announce writes."""

    def guard(self) -> Guard:
        """The comparison for a write. Raises Fenced if the key is not held."""
        if not self.revision:
            raise Fenced("the lease is not held")
        return Guard(self.key, self.revision)

    def moved(self, found: KeyValue | None, compared: int | None = None) -> None:
        """Called when etcd has the key as `found`, and not at the revision that a write `compared`.

        If this process still holds the key, it was only renewed: takes the new revision, which is lower after a restore
        of etcd. Else raises Fenced.
        """
        if not self.revision or found is None or not self._is_ours(found.value):
            self.revision = 0
            raise Fenced("the lease is held by somebody else")
        if self.revision == compared:  # else a renewal has set it meanwhile
            self.revision = found.mod_revision
        else:
            self.revision = max(self.revision, found.mod_revision)


class Existence(Fence):
    """A key that exists as long as writes beside it may be made: its deletion ends them, in every process. A write of
    it, by a restore, ends those of all who have not read it since.
    """

    def __init__(self, key: bytes, announcement: bytes = b"") -> None:
        """`announcement` is a key that is put before the first write, and before a write after some time. A controller
        finds the key, even if all processes that made the writes have ended.
        """
        super().__init__(key, lambda _: True)
        self._announcement, self._until = announcement, 0.0
        self._announcing = asyncio.Lock()

    async def announce(self, client: EtcdClient) -> None:
        """Puts the announcement if that has to be done before a write. Raises StorageError."""
        if not self._announcement or monotonic() < self._until:
            return
        async with self._announcing:
            if (now := monotonic()) >= self._until:
                await client.txn([is_there(self.key)], [put(self._announcement, b"")])  # else the write fails, too
                self._until = now + ANNOUNCED

    async def learn(self, client: EtcdClient) -> KeyValue:
        """Reads the key, before the first write. Raises WholeDeleted if it is absent, StorageError."""
        found = await client.get(self.key)
        if found is None:
            raise WholeDeleted(_DELETED)
        self.revision = found.mod_revision
        return found

    def guard(self) -> Guard:
        if not self.revision:
            raise WholeDeleted(_DELETED)
        return super().guard()

    def moved(self, found: KeyValue | None, compared: int | None = None) -> None:
        if found is None:
            self.revision = 0
            raise WholeDeleted(_DELETED)
        if found.mod_revision != self.revision:  # it is never renewed: a restore has written it
            raise WholeReplaced(REPLACED)


class Outpost:
    """A key that stands for a fence whose key is in another etcd, since no transaction spans two etcds.

    The holder of the fence writes this key before its first write in this etcd, and compares it in each write. So the
    writes of an earlier holder fail, however long it paused. To take the key, the process reads it, then checks the
    fence, then writes it by compare-and-swap: so it never takes the key from a later holder.
    """

    def __init__(self, key: bytes, client: EtcdClient, fence: Fence, holder: EtcdClient) -> None:
        """`holder` is a client of the fence's etcd, `client` one of the etcd of `key`."""
        self.key, self._client, self._fence, self._holder = key, client, fence, holder
        self._revision = 0
        self._taking = asyncio.Lock()

    async def guard(self) -> Guard:
        """The comparison for a write. Raises Fenced if the fence is not held, Unavailable."""
        self._fence.guard()
        if not self._revision:
            async with self._taking:
                while not self._revision:
                    await self._take()
        return Guard(self.key, self._revision)

    async def _take(self) -> None:
        found = await self._client.get(self.key)
        self._fence.moved(await self._holder.get(self._fence.key))
        if found is None:
            done = await self._client.create(self.key, self._fence.key)
        else:
            done = await self._client.update(self.key, self._fence.key, found.mod_revision)
        if done.succeeded:
            self._revision = done.revision

    def lost(self, compared: Guard) -> None:
        """Called when a write's comparison failed: another holder has the key, or this etcd was restored."""
        if self._revision == compared.revision:
            self._revision = 0
