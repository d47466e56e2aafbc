"""The read side of one server process, without HTTP: feed, watch cache and reads on a real etcd."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

from storage.consistency import ConsistentReads
from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.reads import Reads
from storage.sharing.subscriber import Subscriber
from storage.watch_cache import WatchCache
from tests.unit.storage.canonical import SPEC, canonical

PATIENCE = 60.0  # seconds for what should come soon


class Node:
    """Keeps a cache of the pods under a root. `feeder` is the socket of a feeder, which the node then follows like a
    worker.
    """

    def __init__(self, client: EtcdClient, root: bytes, feeder: Path | None = None) -> None:
        self.client, self.root = client, root
        self.cache = WatchCache(root)
        self.pods = self.cache.register(replace(SPEC, prefix=root + b"pods/"))
        self.shared = None if feeder is None else Subscriber(feeder, self.cache)
        self.feed = Feed(client, self.cache, self.shared)
        self.began = -1  # the position in the history at the first start
        consistent = ConsistentReads(self.cache, self.feed.probe, self.progress)
        self.reads = Reads(client, self.cache, consistent)

    async def progress(self) -> bool:
        return await self.feed.request_progress()

    def key(self, name: str) -> bytes:
        return self.root + b"pods/n/" + name.encode()

    async def put(self, name: str, version: str = "") -> int:
        """Writes directly to etcd. Returns the revision."""
        return (await self.client.put(self.key(name), canonical(name, labels={"v": version}))).revision

    async def delete(self, name: str) -> int:
        return (await self.client.delete(self.key(name))).revision

    async def reaches(self, revision: int) -> None:
        async with asyncio.timeout(PATIENCE):
            await self.cache.reach(revision)

    def changes(self, since: int | None = None) -> list[tuple[str, str, int]]:
        """The changes in the history as (type, name, revision), from a position or from the first start."""
        history = self.pods.history
        since = self.began if since is None else since
        return [
            (each.type.name, each.key.rpartition(b"/")[2].decode(), each.revision)
            for each in history.between(since, history.end)
        ]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Node]:
        """Follows etcd while the block runs."""
        tasks = [asyncio.create_task(self.feed.run())]
        if self.shared is not None:
            tasks.append(asyncio.create_task(self.shared.run()))
        try:
            async with asyncio.timeout(PATIENCE):
                await self.feed.ready.wait()
            if self.began < 0:
                self.began = self.pods.history.end
            yield self
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
