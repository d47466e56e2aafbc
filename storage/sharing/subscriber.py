"""A worker's side: connects to the feeder, again and again, and offers its watch to the worker's own feed."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from pathlib import Path

from storage.entry import Entry, is_awaited, is_untransformed
from storage.errors import StorageError
from storage.etcd import Head
from storage.loading import Loaded, newest
from storage.sharing.located import Unreadable
from storage.sharing.shared_watch import FeederLost, SharedWatch
from storage.time_slice import TimeSlice
from storage.watch_cache import WatchCache

log = logging.getLogger(__name__)

RETRY = 0.5  # seconds between connections, doubled up to
MAX_RETRY = 60.0  # where the feeder cannot be relied on
FIRST = 120.0  # seconds that a start waits for the feeder, which loads everything from etcd itself
AGAIN = 0.25  # seconds between questions how far etcd is


class Offered(StorageError):
    """The watch on etcd is no longer needed: the feeder's goes on from there."""


class Distrusted(Exception):
    """What the feeder tells is not what this worker has seen. The message says what."""


class Subscriber:
    """The connection of a worker to the feeder at a path, for a cache."""

    def __init__(self, path: Path, cache: WatchCache) -> None:
        self._path, self._cache = path, cache
        self._watch: SharedWatch | None = None
        self._offered: SharedWatch | None = None
        self._loaded: SharedWatch | None = None  # with which the first load was made
        self._agreed_at = 0  # how often the cache had begun anew when it agreed with what is offered
        self._reread: tuple[bytes, int] | None = None  # a version that only the feeder could read
        self._connected = asyncio.Event()
        self._begun = asyncio.Event()  # whether the first load was made, which may be what the feeder has
        self.known: Callable[[], int] = lambda: 0  # a revision that etcd has
        self.offer: Callable[[], None] = lambda: None  # is called when there is something to `take`
        self.lineage: Callable[[], tuple[int, int]] = lambda: (0, 0)  # of the etcd that was seen: cluster, term
        self.load_anew: Callable[[], None] = lambda: None  # everything, from etcd
        self.read_again: Callable[[], None] = lambda: None  # what a service was away for

    async def run(self) -> None:
        """Keeps a connection, until cancelled."""
        pause = RETRY
        try:
            while True:
                try:
                    watch = await self._connect()
                    await self._joined(watch)
                    pause = RETRY
                    await watch.ended.wait()
                except (OSError, FeederLost) as error:
                    log.debug("the feeder is not there: %s", error)
                    pause = RETRY
                except Distrusted as error:
                    log.error("the feeder's state is not what this process has seen, going on without it: %s", error)
                    pause = min(2 * pause, MAX_RETRY)
                self._close()
                await asyncio.sleep(pause)
        finally:
            self._close()

    async def load(self, head: Head) -> Loaded | None:
        """What the feeder has, for the first load; None where etcd has to be asked.

        `head` is where etcd was before. Raises nothing.
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
        """Whether there is something to `take`."""
        return self._offered is not None and not self._offered.ended.is_set()

    def take(self) -> SharedWatch | None:
        """The feeder's watch, where there is one that goes on from the revision reached."""
        watch, self._offered = self._offered, None
        if watch is None or watch.ended.is_set():
            return None
        if self._agreed_at != self._cache.starts:  # what it was compared with is no more
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
        """Brings a watch to where it can go on from the revision reached, and offers it."""
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
        """Has what this process has already point to shared memory. Raises Distrusted.

        What was last changed up to the revision as of which the feeder tells has to be in what it tells.
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
        """Has everything loaded anew where this process has from a feeder with older keys what can be read by now.

        Once for a version: where this process has the older keys, that is of no use.
        """
        version = entry.key, entry.revision
        if is_untransformed(entry) and not isinstance(value, Unreadable) and self._reread != version:
            self._reread = version
            if is_awaited(entry):
                self.read_again()
                return
            log.warning("values that could not be decrypted may be readable now, loading anew")
            self.load_anew()

    def _close(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.failed(FeederLost("the connection is over"))
