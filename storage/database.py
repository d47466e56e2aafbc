"""One etcd and all that a process has of it: the connection, the cache, what keeps that up to date, reads and writes.

Resources may be kept in etcds of their own. Each of these counts its revisions for itself, so that no cache, no
transaction and no comparison of revisions spans two of them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from storage.catching_up import Pasts
from storage.checking import Checker
from storage.consistency import ConsistentReads
from storage.etcd import EtcdClient, EtcdSettings
from storage.etcd.transforming import Transformer
from storage.feed import Feed
from storage.reads import Reads
from storage.sharing.subscriber import Subscriber
from storage.store import EtcdStore
from storage.watch_cache import WatchCache

if TYPE_CHECKING:
    from storage.rereading import Rereading

PROBE_TIMEOUT = 4.0  # seconds; a read may wait for the end of one probe and then for its own, and no read hangs over 10


@dataclass(frozen=True, slots=True, eq=False)
class Database:
    """An etcd with these `servers`."""

    servers: tuple[str, ...]
    client: EtcdClient
    cache: WatchCache
    feed: Feed
    store: EtcdStore
    checker: Checker
    pasts: Pasts
    rereading: Rereading | None = None  # of what can't be decrypted at present, where values are encrypted


def database_of(
    settings: EtcdSettings,
    root: bytes,
    transformer: Transformer | None = None,
    feeder: Path | None = None,
    first: Collection[bytes] = (),
) -> Database:
    """An etcd whose keys start with `root`; on an event loop. Nothing is connected yet.

    `feeder` is the socket of a process that reads it for several, `first` the prefixes of what is loaded before the
    rest where there is very much.
    """
    client, cache = EtcdClient(settings, transformer), WatchCache(root)
    feed = Feed(client, cache, None if feeder is None else Subscriber(feeder, cache), first=first)
    consistent = ConsistentReads(cache, lambda: feed.probe(PROBE_TIMEOUT), feed.request_progress)
    store = EtcdStore(client, cache, Reads(client, cache, consistent), feed.acknowledged)
    checker, pasts = Checker(client, cache, feed.load_anew), Pasts(client)
    rereading = None if transformer is None else _rereading(feed, cache, pasts, transformer)
    return Database(settings.endpoints, client, cache, feed, store, checker, pasts, rereading)


def _rereading(feed: Feed, cache: WatchCache, pasts: Pasts, transformer: Transformer) -> Rereading:
    from storage.rereading import Rereading

    rereading = Rereading(cache, pasts, transformer)
    feed.on_replacement(rereading.passed)
    if feed.shared is not None:
        feed.shared.read_again = rereading.service_is_back
    return rereading
