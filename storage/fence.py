"""Writes that are made only while this process holds a key: each transaction compares the key's revision.

So a process that lost the key without noticing, after a pause or a network partition, changes nothing any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from storage.errors import Fenced
from storage.etcd import EtcdClient
from storage.etcd.kv import Guard
from storage.etcd.results import KeyValue


class Fence:
    """A key and the revision at which it was last known to be held; 0 while it is not."""

    def __init__(self, key: bytes, is_ours: Callable[[bytes], bool]) -> None:
        """`is_ours` tells of a value of the key whether its holder is this one."""
        self.key, self.revision = key, 0
        self._is_ours = is_ours

    def guard(self) -> Guard:
        """What a write has to compare. Raises Fenced when the key is not held."""
        if not self.revision:
            raise Fenced("the lease is not held")
        return Guard(self.key, self.revision)

    def moved(self, found: KeyValue | None, compared: int | None = None) -> None:
        """The key was as `found`, and not at the revision that a write `compared`: good when it was only renewed.

        Its revision may be a lower one: that of an etcd that was set back. Raises Fenced.
        """
        if not self.revision or found is None or not self._is_ours(found.value):
            self.revision = 0
            raise Fenced("the lease is held by somebody else")
        if self.revision == compared:  # else it was renewed meanwhile
            self.revision = found.mod_revision
        else:
            self.revision = max(self.revision, found.mod_revision)


class Outpost:
    """A key that stands for a fence in another etcd, since no transaction has both.

    Who holds the fence writes this key anew before its first write there, and compares it in each. So whoever held the
    fence before writes nothing there any more, however long it paused. It is compared with what it was before the
    fence was looked at, and so never taken back from a later holder.
    """

    def __init__(self, key: bytes, client: EtcdClient, fence: Fence, holder: EtcdClient) -> None:
        """`holder` is a connection to the etcd of the fence, `client` one to that of `key`."""
        self.key, self._client, self._fence, self._holder = key, client, fence, holder
        self._revision = 0
        self._taking = asyncio.Lock()

    async def guard(self) -> Guard:
        """What a write has to compare. Raises Fenced when the fence is not held, Unavailable."""
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
        """The key was not as it was `compared`: another holder has it, or this etcd was set back."""
        if self._revision == compared.revision:
            self._revision = 0
