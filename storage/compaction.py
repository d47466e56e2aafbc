"""Compacts old revisions, so that etcd does not grow for ever.

Every replica runs a compactor. In each interval one of them compacts: the one that wins a transaction that compares the
version of `compact_rev_key`. The key and its meaning (version: the rounds so far, value: the compact revision) are
kube-apiserver's, so that gateways and kube-apiservers on one etcd take turns too. The same transaction also writes a
key below the registry's prefix: without it a watch on the prefix would not see the new revision. While etcd has no
space for these keys, every replica compacts.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from storage.compaction_key import MARKER, marked
from storage.errors import Compacted, NoSpace, StorageError
from storage.etcd import DeleteResult, EtcdClient, PutResult, RangeResult
from storage.etcd.operations import put, read, version_is

ROUND_KEY: Final = b"compact_rev_key"
_LONGEST_REVISION: Final = 20  # digits; no server writes a longer value

log = logging.getLogger(__name__)


def marker_key(prefix: bytes) -> bytes:
    """The key below the prefix. It belongs to no resource: the group of a custom resource contains a dot."""
    return prefix.rstrip(b"/") + MARKER


class Compactor:
    """Compacts, every `interval` seconds, to the newest revision known to be at least `retention` seconds old.

    A revision's age is counted from the moment when this process saw it as the current one, so it is never
    overestimated. A process compacts nothing in its first `retention` seconds. `compacted` is the last compact revision
    that this process knows of, from any replica.
    """

    def __init__(
        self,
        client: EtcdClient,
        prefix: bytes,
        *,
        interval: float = 300.0,
        retention: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
        told: Callable[[int], None] | None = None,
    ) -> None:
        """`told` is called with `compacted` after each step that did not fail."""
        self.compacted = 0
        self._told = told
        self._client, self._marker = client, marker_key(prefix)
        self._interval, self._retention, self._clock = interval, retention, clock
        self._round = 0
        self._seen: deque[tuple[float, int]] = deque()

    async def run(self) -> None:
        """Compact until cancelled. Returns at once if the interval is 0."""
        while self._interval > 0:
            try:
                await self.step()
                if self._told is not None:
                    self._told(self.compacted)
            except StorageError as error:
                log.warning("the compaction of etcd failed and will be tried again", extra={"error": str(error)})
            await asyncio.sleep(self._interval)

    async def step(self) -> int:
        """Takes part in one round. Returns the compact revision; 0 if another replica won or nothing is old enough.

        Raises StorageError; the caller may call it again.
        """
        target = self._target()
        if target <= self.compacted:
            self._learn(await self._client.range(ROUND_KEY))
            return 0
        try:
            answer = await self._client.txn(
                [version_is(ROUND_KEY, self._round)],
                [put(ROUND_KEY, b"%d" % target), put(self._marker, marked(target))],
                [read(ROUND_KEY)],
            )
        except NoSpace:
            # etcd writes nothing now, but it compacts. Without the space that this frees it would never write again.
            self._learn(await self._client.range(ROUND_KEY))
            return await self._compact(target)
        if not answer.succeeded:
            self._learn(answer.results[0])
            return 0
        self._round += 1
        self._see(answer.revision)
        return await self._compact(target)

    async def _compact(self, target: int) -> int:
        try:
            await self._client.compact(target)
        except Compacted:
            log.debug("another process has compacted a later revision", extra={"revision": target})
        self.compacted = target
        return target

    def _target(self) -> int:
        """The newest revision that was seen at least `retention` seconds ago, 0 if there is none."""
        seen, newest = self._seen, self._clock() - self._retention
        while len(seen) > 1 and seen[1][0] <= newest:
            seen.popleft()
        return seen[0][1] if seen and seen[0][0] <= newest else 0

    def _see(self, revision: int) -> None:
        if self._seen and revision < self._seen[-1][1]:
            self._seen.clear()  # etcd was restored from a backup
        self._seen.append((self._clock(), revision))

    def _learn(self, found: RangeResult | PutResult | DeleteResult) -> None:
        """Takes the number of the round and the compact revision from the key that another replica has written."""
        assert isinstance(found, RangeResult)
        self._see(found.revision)
        self._round = found.kvs[0].version if found.kvs else 0
        value = found.kvs[0].value if found.kvs else b""
        self.compacted = int(value) if value.isdigit() and len(value) < _LONGEST_REVISION else 0
