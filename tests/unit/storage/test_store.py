"""A key is read and written in the etcd whose cache has its resource."""

from __future__ import annotations

from typing import cast

from storage.store import EtcdStore, Stores
from storage.watch_cache import WatchCache
from tests.unit.storage.canonical import ROOT, SPEC


class Store:
    """The members that the tests use."""

    def __init__(self, cache: WatchCache) -> None:
        self.cache = cache


def store(*, has_pods: bool) -> EtcdStore:
    cache = WatchCache(ROOT)
    if has_pods:
        cache.register(SPEC)
    return cast(EtcdStore, Store(cache))


def test_each_key_is_found_where_its_resource_is() -> None:
    main, other = store(has_pods=False), store(has_pods=True)
    stores = Stores(main, [other, other])
    assert stores.all == (main, other)
    assert stores.of(SPEC.prefix + b"n/p") is stores.of_collection(SPEC.prefix) is other
    assert stores.of_collection(SPEC.prefix + b"n/") is other
    assert stores.of(ROOT + b"masterleases/10.0.0.1") is stores.of_collection(ROOT + b"configmaps/") is main


def test_one_has_all_where_there_is_one() -> None:
    main = store(has_pods=True)
    assert Stores(main).of(SPEC.prefix + b"n/p") is Stores(main).of_collection(ROOT + b"x/") is main
