"""Compares the cache with etcd: the keys and mod revisions of each resource, and digests of them.

It compares a page of objects at a time, as of one revision, so that a large resource does not block the event loop.

kube-apiserver compares its watch caches with etcd in the same way (its consistency checker).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b

from storage.cache import ResourceCache
from storage.entry import Entry, is_untransformed
from storage.errors import Compacted, StorageError
from storage.etcd import EtcdClient
from storage.keys import prefix_end
from storage.time_slice import TimeSlice
from storage.watch_cache import WatchCache

log = logging.getLogger(__name__)

PAGE = 1000  # objects that are compared at once


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result for one resource. `status` is success, failure (they differ) or error (etcd did not answer).

    `cached` and `stored` are the digests of the cache and of etcd, in hexadecimal.
    """

    prefix: str
    status: str
    revision: int
    cached: str
    stored: str


class Checker:
    """Checks the caches of one process, on request and at intervals. After a mismatch it reloads all caches.

    `counts` counts the results by prefix and status.
    """

    def __init__(self, client: EtcdClient, cache: WatchCache, load_anew: Callable[[], None]) -> None:
        self._client, self._cache, self._load_anew = client, cache, load_anew
        self.counts: Counter[tuple[bytes, str]] = Counter()
        self._running = asyncio.Lock()

    async def run(self, interval: float) -> None:
        """Checks every `interval` seconds, for ever; returns at once if that is 0."""
        while interval > 0:
            await asyncio.sleep(interval)
            await self.check()

    async def check(self) -> list[CheckResult]:
        """Compares all resources, one after the other; one check at a time."""
        async with self._running:
            findings = [await self._checked(resource) for resource in list(self._cache)]
            checked = {finding.prefix.encode() for finding in findings}
            for key in [key for key in self.counts if key[0] not in checked]:
                del self.counts[key]  # the resource has gone
            for finding in findings:
                self.counts[finding.prefix.encode(), finding.status] += 1
            if any(finding.status == "failure" for finding in findings):
                self._load_anew()
            return findings

    def other_keys(self) -> None:
        """Called when other encryption keys are in use: reloads everything if some values could not be decrypted."""
        if any(is_untransformed(entry) for resource in self._cache for entry in resource.all_entries()):
            log.warning("values that could not be decrypted may be readable now, loading the cache again")
            self._load_anew()

    async def _checked(self, resource: ResourceCache) -> CheckResult:
        """Compares a resource page by page, each as of the revision that the cache has reached by then."""
        generation, prefix = resource.generation, resource.spec.prefix
        cached, stored, differs = _Digest(), _Digest(), False
        first: bytes | None = prefix
        while first is not None:
            revision, entries, following = self._cache.reached, *_piece(resource, first)
            end = following or prefix_end(prefix)
            try:
                found = await self._client.range(first, end, limit=2 * PAGE, revision=revision, keys_only=True)
            except (Compacted, StorageError) as error:
                log.warning("consistency could not be checked: %s", error, extra={"prefix": prefix.decode()})
                return CheckResult(prefix.decode(), "error", revision, cached.text, "")
            if resource.closed or resource.generation != generation:
                return CheckResult(prefix.decode(), "success", revision, cached.text, cached.text)
            kept = [(entry.key, entry.revision) for entry in entries]
            there = [(kv.key, kv.mod_revision) for kv in found.kvs]
            differs = differs or kept != there
            await _digest(cached, kept)
            await _digest(stored, there)
            first = following
        if not differs:
            return CheckResult(prefix.decode(), "success", revision, cached.text, stored.text)
        log.error(
            "the watch cache differs from etcd, loading it again",
            extra={"prefix": prefix.decode(), "revision": revision, "cached": cached.count, "stored": stored.count},
        )
        return CheckResult(prefix.decode(), "failure", revision, cached.text, stored.text)


def _piece(resource: ResourceCache, first: bytes) -> tuple[list[Entry], bytes | None]:
    """The next `PAGE` entries from a key on, and the key of the entry after them, None if there is none."""
    start = resource.index_of(first)
    entries = resource.slice(start, start + PAGE + 1)
    return (entries[:PAGE], entries[PAGE].key) if len(entries) > PAGE else (entries, None)


class _Digest:
    """A digest of keys and their mod revisions, added in key order."""

    def __init__(self) -> None:
        self._hash, self.count = blake2b(digest_size=16), 0

    def add(self, key: bytes, revision: int) -> None:
        self._hash.update(b"%d %b %d\n" % (len(key), key, revision))
        self.count += 1

    @property
    def text(self) -> str:
        return self._hash.hexdigest()


async def _digest(digest: _Digest, items: Iterable[tuple[bytes, int]]) -> _Digest:
    piece = TimeSlice()
    for index, (key, revision) in enumerate(items):
        digest.add(key, revision)
        if not index & 63 and piece.over():
            await piece.next()
    return digest
