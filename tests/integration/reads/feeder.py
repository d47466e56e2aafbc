"""The feeder of several nodes, in this process: the part that --shared-cache runs in its own process."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from pathlib import Path

from storage.etcd import EtcdClient
from storage.feed import Feed
from storage.sharing.publisher import Publisher
from storage.sharing.segments import Segments
from storage.sharing.shared_watch import SharedWatch
from storage.sharing.shelf import PublishedCache
from tests.integration.reads.node import PATIENCE, Node

SEGMENT = 16 << 10  # bytes: a few values fill one


class Feeder:
    """Can be started and killed, again and again. Its socket listens all the time, like the one that the parent process
    has.
    """

    def __init__(self, client: EtcdClient, root: bytes, path: Path, worth: int = 0) -> None:
        self.path, self._client, self._root, self._worth = path, client, root, worth
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen(8)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Starts without data, like a new process."""
        self.cache = PublishedCache(self._root)
        self.cache.shelf.segments = Segments(SEGMENT)
        self.feed = Feed(self._client, self.cache, seeds=False)
        self.publisher = Publisher(self._listener.dup(), self.cache, self.feed, self._worth)
        self._tasks = [asyncio.create_task(self.feed.run()), asyncio.create_task(self.publisher.run())]

    async def kill(self) -> None:
        """Ends it, as if its process were killed."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        self._tasks.clear()
        self.publisher.close()

    async def close(self) -> None:
        """Ends it for good."""
        if self._tasks:
            await self.kill()
        self._listener.close()


def is_shared(node: Node) -> bool:
    """Whether the node follows the feeder."""
    return isinstance(node.feed._watch, SharedWatch)


async def shares(node: Node, shared: bool = True) -> None:
    """Waits until the node follows the feeder, or its own watch; there is no event to wait for."""
    async with asyncio.timeout(PATIENCE):
        while node.feed._watch is None or is_shared(node) is not shared:
            await asyncio.sleep(0.005)
