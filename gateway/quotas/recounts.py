"""Before a write is refused for an exceeded quota, waits shortly for deletions that were not counted yet."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from gateway.quotas.marks import is_of_another, mark_of
from storage.cache import ResourceCache
from storage.entry import Change, ChangeType
from storage.watch_cache import WatchCache

RECOUNT_TIMEOUT = 1.0  # seconds; a controller counts what was freed in a few milliseconds
APART = 3.0  # the same for objects of another etcd: there the controller delays lowering a usage, by 2 s at most
QUIET = 3.0  # seconds without a change, after which other servers are taken to have no charged writes under way
LOOKED_AT = 512  # changes that are searched, at most


class Recounts:
    """Waits for recounts. A quota's `used` is no newer than its mod revision: objects deleted later still count."""

    def __init__(self, cache: WatchCache, quotas: bytes) -> None:
        """`quotas` is the prefix of their keys."""
        self._cache, self._prefix = cache, quotas
        self._quiet: dict[bytes, int] = {}  # by namespace: the revision up to which groups of others have ended
        self._waited: dict[bytes, int] = {}  # by collection: the deletion whose recount did not come in time
        self._apart: dict[bytes, tuple[int, float]] = {}  # by collection: the last deletion, until when it is awaited

    async def wait(self, resource: bytes, namespace: str, revision: int, counted: int = 0) -> int:
        """Waits until a quota of the namespace is newer than the last deletion of an object of the resource.

        Returns the newest revision of the namespace's quotas, or 0 if there was no recount in time. `resource` is the
        prefix of the objects' keys. `revision` is that of the quota that refused: without a later deletion, there is
        no wait. `counted` is what the call before returned: of several quotas, another one may be recounted first.
        """
        objects = self._cache.of_key(resource + b"x")
        quotas = self._cache.of_key(self._prefix + b"x")
        collection = resource + namespace.encode() + b"/"
        if objects is None or quotas is None:
            return 0
        freed = next((change.revision for change in _recent(objects, revision) if _frees(change, collection)), 0)
        if not freed or self._waited.get(collection) == freed:
            return 0
        prefix = self._prefix + namespace.encode() + b"/"
        if await self._changed(quotas, prefix, max(freed, counted)):
            return _newest(quotas, prefix)
        if len(self._waited) > LOOKED_AT:
            self._waited.clear()
        self._waited[collection] = freed
        return 0

    async def wait_apart(self, objects: ResourceCache | None, namespace: str) -> bool:
        """As `wait`, for objects of another etcd, whose revisions cannot be compared with those of quotas.

        Each deletion is waited for once, from the first refusal on. Returns whether a quota has changed in time.
        """
        quotas = self._cache.of_key(self._prefix + b"x")
        if objects is None or quotas is None:
            return False
        collection = objects.spec.prefix + namespace.encode() + b"/"
        freed = next((change.revision for change in _recent(objects, 0) if _frees(change, collection)), 0)
        last, until = self._apart.get(collection, (0, 0.0))
        if not freed:
            return False
        if last != freed:
            if len(self._apart) > LOOKED_AT:
                self._apart.clear()
            until = time.monotonic() + APART
            self._apart[collection] = freed, until
        prefix = self._prefix + namespace.encode() + b"/"
        return await self._changed(quotas, prefix, _newest(quotas, prefix), until - time.monotonic())

    async def others(self, namespace: str) -> bool:
        """If another server has charged a group of writes in a namespace, waits for the next change of a quota there.

        Returns whether there was one in time. The other server gives back the charges of writes that it did not make.
        """
        quotas, prefix = self._cache.of_key(self._prefix + b"x"), self._prefix + namespace.encode() + b"/"
        if quotas is None:
            return False
        newest, quiet = 0, self._quiet.get(prefix, 0)
        for change in _recent(quotas, quiet if quiet <= self._cache.reached else 0):  # etcd may have been set back
            if change.key.startswith(prefix):
                newest = newest or change.revision
                if is_of_another(mark_of(change.entry)):
                    break
        else:
            return False
        if await self._changed(quotas, prefix, newest, QUIET):
            return True
        if len(self._quiet) > LOOKED_AT:
            self._quiet.clear()
        self._quiet[prefix] = newest
        return False

    async def _changed(
        self, quotas: ResourceCache, prefix: bytes, freed: int, patience: float = RECOUNT_TIMEOUT
    ) -> bool:
        deadline = time.monotonic() + patience
        while (left := deadline - time.monotonic()) > 0:
            if _newest(quotas, prefix) > freed:
                return True
            waiter = quotas.changes()
            try:
                await asyncio.wait((waiter,), timeout=left)
            finally:
                quotas.forget(waiter)
        return False


def _newest(quotas: ResourceCache, prefix: bytes) -> int:
    return max((entry.revision for entry in quotas.slice(*quotas.bounds(prefix))), default=0)


def _recent(objects: ResourceCache, revision: int) -> Iterator[Change]:
    """Yields the changes after a revision, the newest first, at most LOOKED_AT."""
    history = objects.history
    for change in reversed(history.between(max(history.first, history.end - LOOKED_AT), history.end)):
        if change.revision <= revision:
            return
        yield change


def _frees(change: Change, collection: bytes) -> bool:
    """Whether a change may have freed something: a deletion, or a pod that has ended."""
    if not change.key.startswith(collection) or change.corrupt:
        return False
    if change.type is ChangeType.DELETED:
        return True
    return change.type is ChangeType.MODIFIED and (
        b'"phase":"Succeeded"' in change.entry.tail or b'"phase":"Failed"' in change.entry.tail
    )
