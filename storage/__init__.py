"""Objects in etcd as bytes: the watch cache, reads and writes. It knows neither HTTP nor kinds.

The entry points are `store.EtcdStore` (writes), `reads.Reads` (reads), `watch_cache.WatchCache` with `feed.Feed`, which
keeps it up to date, and `tap.tap` for code that follows changes. `etcd` is the etcd client, `embedded` runs an etcd as
a child process, and `backups` writes and restores backups.
"""
