"""One etcd and the objects of a process that use it: client, watch cache, feed, reads and writes.

Some resources may be stored in another etcd (--etcd-servers-overrides). Each etcd counts its own revisions, so no
cache, no transaction and no comparison of revisions spans two etcds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from storage.cache_check import Checker
from storage.catching_up import Pasts
from storage.consistency import ConsistentReads
from storage.etcd import EtcdClient, EtcdSettings
from storage.etcd.transformer import Transformer
from storage.feed import Feed
from storage.fence import Fence
from storage.reads import Reads
from storage.sharing.subscriber import Subscriber
from storage.store import EtcdStore
from storage.watch_cache import WatchCache

if TYPE_CHECKING:
    from storage.common import Common
    from storage.reread import Rereading
    from storage.seeded.seeds import Seeds

PROBE_TIMEOUT = 4.0  # seconds; a read waits for at most two probes, the running one and its own: under 10 s together


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
    rereading: Rereading | None = None  # of values that can't be decrypted at present; None without encryption


def database_of(
    settings: EtcdSettings,
    root: bytes,
    transformer: Transformer | None = None,
    feeder: Path | None = None,
    first: Collection[bytes] = (),
) -> Database:
    """Makes the database of an etcd whose keys start with `root`. Needs an event loop; does not connect yet.

    `feeder` is the Unix socket of the process that reads etcd for all workers. `first` are the key prefixes that are
    loaded before all others when etcd has very many objects.
    """
    client, cache = EtcdClient(settings, transformer), WatchCache(root)
    feed = Feed(client, cache, None if feeder is None else Subscriber(feeder, cache), first=first)
    consistent = ConsistentReads(cache, lambda: feed.probe(PROBE_TIMEOUT), feed.request_progress)
    store = EtcdStore(client, cache, Reads(client, cache, consistent), feed.acknowledged)
    checker, pasts = Checker(client, cache, feed.load_anew), Pasts(client)
    rereading = None if transformer is None else _rereading(feed, cache, pasts, transformer)
    return Database(settings.endpoints, client, cache, feed, store, checker, pasts, rereading)


def common_of(beside: Database, root: bytes, stirred: Callable[[str], None]) -> Common:
    """Makes what several registries below one root share, in the etcd of another database and with its client.

    `root` ends with a slash. `stirred` is called with the name of a detached part that another process has changed.
    """
    from storage.common import Common, CommonCache, CommonFeed

    client, cache = beside.client, CommonCache(root, stirred)
    feed = CommonFeed(client, cache, seeds=False, read=cache.read)
    return Common(client, cache, feed, ConsistentReads(cache, lambda: feed.probe(PROBE_TIMEOUT), feed.request_progress))


def part_of(
    common: Common, beside: Database, name: str, fence: Fence | None = None, seeds: Seeds | None = None
) -> Database:
    """The database of one of these registries, detached: its resources are to be registered before `Common.attach`.

    Its store writes only while the `fence` is held. It begins with the `seeds`.
    """
    from storage.common import PartCache

    feed, cache = common.feed, PartCache(common.cache, name, seeds)
    client = cache.seen_by(common.client)
    store = EtcdStore(client, cache, Reads(client, cache, common.consistent), feed.acknowledged, fence)
    return Database(beside.servers, client, cache, feed, store, Checker(client, cache, feed.load_anew), Pasts(client))


def _rereading(feed: Feed, cache: WatchCache, pasts: Pasts, transformer: Transformer) -> Rereading:
    from storage.reread import Rereading

    rereading = Rereading(cache, pasts, transformer)
    feed.on_replacement(rereading.passed)
    if feed.shared is not None:
        feed.shared.read_again = rereading.service_is_back
    return rereading
