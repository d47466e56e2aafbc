"""The worker's side: keeps a connection to the feeder, and offers its watch to the worker's own feed."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from pathlib import Path

from storage.entry import Entry, is_awaited, is_untransformed
from storage.errors import StorageError
from storage.etcd import ClusterState
from storage.load import Loaded, newest
from storage.sharing.located_values import UnreadableShared
from storage.sharing.shared_watch import FeederLost, SharedWatch
from storage.time_slice import TimeSlice
from storage.watch_cache import WatchCache

log = logging.getLogger(__name__)

RETRY = 0.5  # seconds between connections; doubled, up to MAX_RETRY, while the feeder is distrusted
MAX_RETRY = 60.0
FIRST = 120.0  # seconds that a start waits for the feeder, which has to load everything from etcd first
AGAIN = 0.25  # seconds between progress requests


class Offered(StorageError):
    """The watch on etcd is no longer needed: the feeder's watch continues from the revision reached."""


class Distrusted(Exception):
    """The feeder's state differs from what this worker has seen. The message says how."""


class Subscriber:
    """The connection of a worker to the feeder at a path, for a cache."""

    def __init__(self, path: Path, cache: WatchCache) -> None:
        self._path, self._cache = path, cache
        self._watch: SharedWatch | None = None
        self._offered: SharedWatch | None = None
        self._loaded: SharedWatch | None = None  # the watch that gave the first load
        self._agreed_at = 0  # `WatchCache.starts` when the cache was compared with the offered watch
        self._reread: tuple[bytes, int] | None = None  # key and revision that only the feeder could decrypt
        self._connected = asyncio.Event()
        self._begun = asyncio.Event()  # set when the first load may go on, with the feeder's values or etcd's
        self.known: Callable[[], int] = lambda: 0  # a revision that etcd is known to have reached
        self.offer: Callable[[], None] = lambda: None  # called when there is a watch to `take`
        self.lineage: Callable[[], tuple[int, int]] = lambda: (0, 0)  # cluster ID and raft term that this worker saw
        self.load_anew: Callable[[], None] = lambda: None  # loads everything from etcd
        self.read_again: Callable[[], None] = lambda: None  # reads the values again that a KMS was down for

    async def run(self) -> None:
        """Keeps a connection to the feeder, until it is cancelled."""
        pause = RETRY
        try:
            while True:
                try:
                    watch = await self._connect()
                    await self._joined(watch)
                    pause = RETRY
                    await watch.ended.wait()
                except (OSError, FeederLost) as error:
                    log.debug("the feeder is not running: %s", error)
                    pause = RETRY
                except Distrusted as error:
                    log.error(
                        "the feeder's state contradicts this process, which goes on without the feeder: %s", error
                    )
                    pause = min(2 * pause, MAX_RETRY)
                self._close()
                await asyncio.sleep(pause)
        finally:
            self._close()

    async def load(self, head: ClusterState) -> Loaded | None:
        """The feeder's values, for the first load; None if they have to be loaded from etcd.

        `head` is etcd's head before: the feeder has to be on the same cluster. Never raises.
        """
        if self._begun.is_set():
            return None
        try:
            async with asyncio.timeout(FIRST):
                await self._connected.wait()
                watch = self._watch
                if watch is None:
                    return None
                await watch.told.wait()
                if watch.waits:
                    return None
                origin = await asyncio.shield(watch.origin)
        except (TimeoutError, StorageError):
            return None
        finally:
            self._begun.set()
        if origin.cluster != head.cluster:
            return None
        values, watch.items = watch.items, {}
        self._offered = self._loaded = watch
        return Loaded(values, origin.revision, newest(values))

    @property
    def offers(self) -> bool:
        """Whether there is a watch to `take`."""
        return self._offered is not None and not self._offered.ended.is_set()

    def take(self) -> SharedWatch | None:
        """The feeder's watch, if it offers one that continues from the revision reached; else None."""
        watch, self._offered = self._offered, None
        if watch is None or watch.ended.is_set():
            return None
        if self._agreed_at != self._cache.starts:  # the cache was emptied after the comparison
            watch.failed(FeederLost("everything was loaded anew"))
            return None
        return watch

    async def _connect(self) -> SharedWatch:
        loop = asyncio.get_running_loop()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        connection.setblocking(False)
        try:
            await loop.sock_connect(connection, str(self._path))
        except BaseException:
            connection.close()
            self._connected.set()
            raise
        watch = self._watch = SharedWatch(connection, self._cache, self.known)
        self._connected.set()
        return watch

    async def _joined(self, watch: SharedWatch) -> None:
        """Waits until this worker has reached the watch's revision, compares the states, and offers the watch.

        Raises Distrusted, FeederLost.
        """
        origin = await watch.origin
        await self._begun.wait()
        if self._loaded is watch:
            return
        starts = self._cache.starts
        while self._cache.reached < origin.revision:
            await watch.request_progress()
            reached = self._cache.reach(origin.revision)
            await asyncio.wait([reached], timeout=AGAIN)
            reached.cancel()
            if watch.ended.is_set():
                return
        cluster, term = self.lineage()
        if cluster and (origin.cluster != cluster or origin.term < term):
            raise Distrusted("it is of another etcd")
        await self._adopt(watch, origin.revision)
        self._offered, self._agreed_at = watch, starts
        self.offer()

    async def _adopt(self, watch: SharedWatch, revision: int) -> None:
        """Makes the entries of this process point to shared memory. Raises Distrusted.

        The feeder's values must include each entry that has not changed after `revision`, their revision.
        """
        items, watch.items = watch.items, {}
        piece = TimeSlice()
        for resource in list(self._cache):
            for entry in list(resource.all_entries()):
                value, there = items.get(entry.key, (b"", 0))
                if there == entry.revision:
                    resource.locate(entry.key, value, there)  # type: ignore[arg-type]  # it is a Located
                    self._compare_keys(entry, value)
                elif entry.revision <= revision and resource.get(entry.key) is entry:
                    raise Distrusted(f"{entry.key.decode(errors='replace')} at {there}, and not at {entry.revision}")
                if piece.over():
                    await piece.next()

    def _compare_keys(self, entry: Entry, value: object) -> None:
        """Reloads everything if the feeder can decrypt a value that this process got undecrypted, with older keys.

        It does so once per version: if this process itself has the older keys, a reload does not help.
        """
        version = entry.key, entry.revision
        if is_untransformed(entry) and not isinstance(value, UnreadableShared) and self._reread != version:
            self._reread = version
            if is_awaited(entry):
                self.read_again()
                return
            log.warning("values that could not be decrypted may be readable now, loading the cache again")
            self.load_anew()

    def _close(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.failed(FeederLost("the connection is over"))
