"""Makes a backup: all keys under a prefix as of one revision, page by page."""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from storage.backups.file import BackupKey, Header, Lease, Told, Writer
from storage.backups.marker import check_restored
from storage.errors import Compacted, LeaseNotFound, StorageError
from storage.etcd import EtcdClient, KeyValue, prefix_end

PAGE_BYTES: Final = 8 << 20  # the approximate size of a page
FIRST_PAGE, LARGEST_PAGE = 100, 2000  # numbers of keys
TIMEOUT: Final = 60.0  # seconds for a page
OWN_LIFE: Final = b"masterleases/"  # keys of running servers: they are not restored


@dataclass(frozen=True, slots=True)
class BackupResult:
    """The revision and size of a backup that was made."""

    revision: int
    keys: int
    bytes: int  # of the file


class NothingThere(Exception):
    """There are no keys under the prefix, which the message names."""


async def take(client: EtcdClient, prefix: str, path: Path, told: Told = lambda done, of: None) -> BackupResult:
    """Writes a backup to `path`. The file appears when it is complete, and only its owner may read it.

    `prefix` has no slash at its end. Raises StorageError (RestoreUnfinished after an interrupted restore),
    NothingThere, OSError.
    """
    root = f"{prefix}/".encode()
    await check_restored(client, prefix)
    header = await header_of(client, prefix)
    with appearing(path) as file:
        writer = Writer(file, header)
        keys = await _copy(client, root, header.revision, writer, told)
        if not keys:
            raise NothingThere(f"there are no keys under {prefix}: nothing was backed up")
        writer.end()
        size = file.tell()
    return BackupResult(header.revision, keys, size)


async def header_of(client: EtcdClient, prefix: str, control_plane: str = "", revision: int = 0) -> Header:
    """The header of a backup at a revision, 0 for the present one. Raises StorageError."""
    head = await client.head(f"{prefix}/".encode())
    return Header(
        prefix=prefix,
        revision=revision or head.revision,
        cluster=f"{head.cluster:x}",
        etcd=(await client.status()).version,
        made=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        control_plane=control_plane,
    )


@contextmanager
def appearing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file. If the block ends without an error, it is synced to disk and renamed to `path`."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink()


async def _copy(client: EtcdClient, root: bytes, revision: int, writer: Writer, told: Told) -> int:
    total = (await client.prefix(root, revision=revision, count_only=True)).count
    numbers: dict[int, int] = {}  # of leases
    keys = done = 0
    async for kv, lease in _all(client, root, revision):
        done += 1
        relative = kv.key[len(root) :]
        if relative.startswith(OWN_LIFE):
            continue
        if lease and lease not in numbers:
            numbers[lease] = len(numbers) + 1
            writer.lease(Lease(numbers[lease], await _left(client, lease)))
        writer.key(BackupKey(relative, kv.value, numbers.get(lease, 0)))
        keys += 1
        told(done, total)
    return keys


async def _all(client: EtcdClient, root: bytes, revision: int) -> AsyncIterator[tuple[KeyValue, int]]:
    key, end, limit = root, prefix_end(root), FIRST_PAGE
    while True:
        try:
            page, leases = await client.kv.leased(key, end, revision=revision, limit=limit, timeout=TIMEOUT)
        except Compacted:
            raise StorageError(
                f"etcd forgot revision {revision} during the backup, because another client compacted it; "
                "try again, and if that does not help, raise the servers' --etcd-compaction-retention during the backup"
            ) from None
        for pair in zip(page.kvs, leases, strict=True):
            yield pair
        if not page.more:
            return
        key = page.kvs[-1].key + b"\0"
        each = sum(len(kv.value) for kv in page.kvs) // len(page.kvs) + 1
        limit = max(1, min(LARGEST_PAGE, PAGE_BYTES // each, 4 * limit))


async def _left(client: EtcdClient, lease: int) -> int:
    """The seconds that a lease has left; 1 if it has ended since, because its keys existed at the revision."""
    try:
        return max(1, await client.leases.time_to_live(lease))
    except LeaseNotFound:
        return 1
