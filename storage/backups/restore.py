"""Restores a backup: into an empty prefix, or in place of its present keys.

A marker key says that a restore is running. Each transaction compares it, so that one of two concurrent restores fails.
A restore after an interrupted one starts from the beginning. At the end etcd's history is compacted. So a client with
an older resourceVersion gets 410 (Gone) and lists again; else it would miss changes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from storage.backups.file import BackupInfo, BackupKey, Lease, read
from storage.backups.marker import described, marker, marker_key
from storage.backups.take import OWN_LIFE
from storage.errors import Compacted, StorageError, TooLarge, Unavailable
from storage.etcd import EtcdClient, TxnResult, operations, prefix_end
from storage.etcd.generated import rpc_pb2

OPERATIONS: Final = 120  # of a transaction; etcd's default limit is 128
BYTES: Final = 1_000_000  # of a transaction; etcd's default limit is 1.5 MiB
AT_ONCE: Final = 8
ATTEMPTS, PAUSE = 10, 0.5
TIMEOUT: Final = 30.0
DELETED_AT_ONCE: Final = 1000
MOST_ADVANCED: Final = 200_000  # revisions; each takes one write

Told = Callable[[str, int, int], None]  # the step, how much of it is done, and the total


class RestoreRefused(Exception):
    """The restore did not begin, and wrote nothing; the message says why."""


@dataclass(frozen=True, slots=True)
class Restored:
    """The number of restored keys, etcd's revision, and by how much that is below the backup's revision."""

    keys: int
    revision: int
    behind: int


async def restore(
    client: EtcdClient, prefix: str, path: Path, info: BackupInfo, *, replace: bool = False, told: Told
) -> Restored:
    """Restores a verified file (`info` comes from `verify`). Raises Refused, StorageError, InvalidBackup, OSError."""
    restoring = _Restoring(client, prefix, info, told)
    await restoring.begin(path.name, replace)
    await restoring.clear()
    await restoring.write(path)
    return await restoring.finish()


class _Restoring:
    def __init__(self, client: EtcdClient, prefix: str, info: BackupInfo, told: Told) -> None:
        self._client, self._info, self._told = client, info, told
        self._prefix, self._root, self._marker = prefix, f"{prefix}/".encode(), marker_key(prefix)
        self._created = 0  # the marker's create revision
        self._value = b""

    async def begin(self, name: str, replace: bool) -> None:
        """Puts the marker. Raises Refused if servers run on the prefix, or if it has keys and `replace` is false."""
        client = self._client
        serving = await client.prefix(self._root + OWN_LIFE, keys_only=True)
        if serving.kvs:
            addresses = ", ".join(sorted(kv.key.rpartition(b"/")[2].decode() for kv in serving.kvs))
            raise RestoreRefused(
                f"API servers use {self._prefix}: {addresses}; stop them first (a killed server counts as running for "
                "another 15 seconds)"
            )
        unfinished = await client.get(self._marker)
        if unfinished is None and not replace and (count := (await client.prefix(self._root, count_only=True)).count):
            raise RestoreRefused(f"there are {count} keys under {self._prefix}; add --replace to delete them first")
        if unfinished is not None:
            self._told(f"starting again the restore {described(unfinished.value)}", 0, 0)
            await client.delete_if(self._marker, unfinished.mod_revision)
        began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._value = marker(name, self._info.header.revision, began)
        put = await client.create(self._marker, self._value)
        if not put.succeeded:
            raise RestoreRefused("another restore has just begun: wait until it ends")
        self._created = put.revision

    async def clear(self) -> None:
        """Deletes all keys under the prefix except the marker."""
        total = (await self._client.prefix(self._root, count_only=True)).count - 1
        done = 0
        for start, end in ((self._root, self._marker), (self._marker + b"\0", prefix_end(self._root))):
            while True:
                page = await self._client.range(start, end, limit=DELETED_AT_ONCE, keys_only=True, timeout=TIMEOUT)
                if not page.kvs:
                    break
                start = page.kvs[-1].key + b"\0"
                await self._commit([operations.delete(page.kvs[0].key, start)])
                done += len(page.kvs)
                self._told("deleting", done, total)

    async def write(self, path: Path) -> None:
        """Puts the keys of the file, with some concurrent transactions."""
        done = 0

        async def parts() -> AsyncIterator[Callable[[], Awaitable[int]]]:
            granted: dict[int, int] = {}
            async for leases, keys in _parts(path):
                for lease in leases:
                    granted[lease.number] = (await self._client.leases.grant(lease.ttl, timeout=TIMEOUT)).id
                puts = [
                    operations.put(self._root + key.key, key.value, lease=granted[key.lease] if key.lease else 0)
                    for key in keys
                ]
                yield partial(self._put, puts)

        async for count in _side_by_side(parts(), AT_ONCE):
            done += count
            self._told("writing", done, self._info.keys)

    async def finish(self) -> Restored:
        """Raises etcd's revision above the backup's, compacts, and removes the marker."""
        found = await self._client.prefix(self._root, count_only=True)
        keys, least = found.count - 1, self._info.keys - self._info.leased
        if not least <= keys <= self._info.keys:
            raise StorageError(
                f"there are {keys} keys under {self._prefix} instead of {self._info.keys}: another client writes "
                "there; stop it, and restore again"
            )
        revision = await self._advance(found.revision)
        with suppress(Compacted):
            await self._client.compact(revision, timeout=TIMEOUT)
        ended = await self._commit([operations.delete(self._marker)])
        return Restored(keys, ended.revision, max(0, self._info.header.revision - ended.revision))

    async def _advance(self, revision: int) -> int:
        missing = self._info.header.revision + 1 - revision
        if not 0 < missing <= MOST_ADVANCED:
            return revision
        done = 0

        async def writes() -> AsyncIterator[Callable[[], Awaitable[int]]]:
            for _ in range(missing):
                yield partial(self._put, [operations.put(self._marker, self._value)])

        async for count in _side_by_side(writes(), 8 * AT_ONCE):
            done += count
            self._told("advancing the revision", done, missing)
        return await self._client.revision(self._root)

    async def _put(self, puts: list[rpc_pb2.RequestOp]) -> int:
        await self._commit(puts)
        return len(puts)

    async def _commit(self, parts: list[rpc_pb2.RequestOp]) -> TxnResult:
        """Makes one transaction; a retry may make it twice. Raises StorageError if another restore took over."""
        marker_goes = parts[0].request_delete_range.key == self._marker
        compare = [operations.create_revision_is(self._marker, self._created)]
        for left in reversed(range(ATTEMPTS)):
            try:
                answer = await self._client.txn(compare, parts, timeout=TIMEOUT)
                break
            except TooLarge as error:
                keys = ", ".join(part.request_put.key.decode("utf-8", "replace") for part in parts)[:200]
                raise StorageError(f"{error}: {keys}; raise etcd's --max-request-bytes and restore again") from None
            except Unavailable:
                if not left:
                    raise
                await asyncio.sleep(PAUSE)
        repeated = left < ATTEMPTS - 1
        if not answer.succeeded and not (repeated and marker_goes):
            raise StorageError("another restore replaced this one; the keys in etcd are those of the other restore")
        return answer


async def _parts(path: Path) -> AsyncIterator[tuple[list[Lease], list[BackupKey]]]:
    """Yields the keys of each transaction, with the leases that occur there first."""
    leases: list[Lease] = []
    keys: list[BackupKey] = []
    size = 0
    end: Iterator[None] = iter((None,))
    for record in chain(read(path), end):
        if isinstance(record, Lease):
            leases.append(record)
            continue
        length = 0 if record is None else len(record.key) + len(record.value) + 64
        if keys and (record is None or size + length > BYTES or len(keys) == OPERATIONS):
            yield leases, keys
            leases, keys, size = [], [], 0
        if record is not None:
            keys.append(record)
            size += length


async def _side_by_side(makers: AsyncIterator[Callable[[], Awaitable[int]]], at_once: int) -> AsyncIterator[int]:
    """Runs at most `at_once` calls at the same time and yields their results as they end. An error cancels the rest."""
    running: set[asyncio.Future[int]] = set()
    try:
        async for make in makers:
            running.add(asyncio.ensure_future(make()))
            if len(running) >= at_once:
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for each in done:
                    yield each.result()
        while running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                yield each.result()
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
