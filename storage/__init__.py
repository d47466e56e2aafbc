"""Objects in etcd as bytes: the watch cache, reads and writes. It knows neither HTTP nor kinds.

Enter by `store.EtcdStore` (writes), `reads.Reads` (reads), `cache.WatchCache` with `feed.Feed`, which keeps it up to
date, and `tap.tap` for those who follow changes. `etcd` is the client, `embedded` runs an etcd, `backups` saves one.
"""
