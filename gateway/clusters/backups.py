"""A backup of one control plane in a file, and the restore of it. Servers may run meanwhile; other control planes and
the root are not touched.

The restore writes the objects of the file as a template of this control plane alone. One transaction makes that
template its beginning, and removes its former objects. Each server sees the write of the key `made`, ends the control
plane in its memory, and loads it anew. Uids stay as in the file. A resourceVersion from before the restore is 410.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gateway.clusters.definition import GROUP, MADE, PLURAL
from gateway.clusters.roles import ROLES, digest_in
from gateway.clusters.template_copy import MOST, PASSING, Pair, objects_of
from gateway.clusters.templates import ClusterTemplate, ClusterTemplates, template_as_is
from gateway.jsontypes import loads
from gateway.settings.control_planes import COMMON
from storage.backups.file import BackupInfo, BackupKey, InvalidBackup, Writer, read
from storage.backups.marker import check_restored
from storage.backups.take import BackupResult, appearing, header_of
from storage.errors import StorageError, WholeDeleted
from storage.etcd import EtcdClient, KeyValue
from storage.fence import Existence
from storage.leading import Leading
from storage.seeded.client import SeededClient


class NoControlPlane(Exception):
    """No control plane of the name is ready; the message says why."""


class _Place:
    """Where the keys of a control plane are."""

    def __init__(self, client: EtcdClient, prefix: str, name: str, uid: str) -> None:
        self.client, self.uid = client, uid
        common = f"{prefix}{COMMON}/".encode()
        self.root, self.templates = common + uid.encode() + b"/", ClusterTemplates(client, common)
        self.existence, self._name = Existence(self.root + MADE), name

    async def made(self) -> KeyValue:
        """The key `made`. Raises NoControlPlane, StorageError."""
        try:
            return await self.existence.learn(self.client)
        except WholeDeleted:
            raise NoControlPlane(f"the control plane {self._name} is not ready") from None

    async def end_others(self) -> None:
        """Removes the templates that former restores, and those that failed, have left. Raises StorageError."""
        made = await self.existence.learn(self.client)
        digest = loads(made.value)["template"] if made.value else ""
        await self.templates.end(Leading(self.client, self.existence), self.uid, digest)


async def _place(client: EtcdClient, prefix: str, name: str) -> _Place:
    await check_restored(client, prefix)
    found = await client.get(f"{prefix}/{GROUP}/{PLURAL}/{name}".encode())
    meta: Any = None if found is None else loads(found.value)["metadata"]
    if meta is None or meta.get("deletionTimestamp"):
        raise NoControlPlane(f"there is no control plane {name} under {prefix}; `apiserver-gateway cluster create` it")
    return _Place(client, prefix, name, meta["uid"])


async def take_cluster(client: EtcdClient, prefix: str, name: str, path: Path) -> BackupResult:
    """Writes all objects of a control plane but events to `path`, as of one revision. Only its owner may read the file.

    Raises NoControlPlane, TooMuch, StorageError, OSError.
    """
    place = await _place(client, prefix, name)
    made = await place.made()
    seeds = await place.templates.seeds(place.uid, made)
    seen_by = client if seeds is None else SeededClient(client, seeds)
    objects, revision = await objects_of(seen_by, place.root, PASSING)
    roles = await client.get(place.root + ROLES)
    if (await place.made()).mod_revision != made.mod_revision:
        raise StorageError("the control plane was restored during the backup: run the command again")
    digest = digest_in(made.value).encode() if roles is None else roles.value
    header = await header_of(client, prefix, name, revision)
    pairs = sorted([*objects, (ROLES, digest)])
    if (key := _no_text(pairs)) is not None:
        raise StorageError(f"the object {key!r} of the control plane is corrupt: delete it first")

    def write() -> int:
        with appearing(path) as file:
            writer = Writer(file, header)
            for key, value in pairs:
                writer.key(BackupKey(key, value, 0))
            writer.end()
            return file.tell()

    return BackupResult(revision, len(pairs), await asyncio.to_thread(write))


async def restore_cluster(client: EtcdClient, prefix: str, name: str, path: Path, info: BackupInfo) -> int:
    """Replaces all objects of a control plane by those of a verified file. Returns the revision of the exchange.

    Raises NoControlPlane, InvalidBackup, StorageError, OSError.
    """
    if info.bytes > MOST + (1 << 20):
        raise InvalidBackup(f"it has more than {MOST >> 20} MiB")
    place = await _place(client, prefix, name)
    await place.made()
    template, roles = await asyncio.to_thread(_content, path)
    leading = Leading(client, place.existence)
    try:
        return await place.templates.exchange(leading, place.root, template, place.uid, roles)
    finally:
        await place.end_others()


def _content(path: Path) -> tuple[ClusterTemplate, str]:
    """A file's objects as a template, ready to be written, and the digest of its default roles."""
    objects, roles = list[Pair](), b""
    for record in read(path):
        if isinstance(record, BackupKey):
            if record.key == ROLES:
                roles = record.value
            else:
                objects.append((record.key, record.value))
    if (key := _no_text([*objects, (ROLES, roles)])) is not None:
        raise InvalidBackup(f"the key {key!r} or its value is not text")
    template = template_as_is(objects)
    _ = template.packed, template.digest, template.pieces
    return template, roles.decode()


def _no_text(pairs: Sequence[Pair]) -> bytes | None:
    """The first key that is not UTF-8, or whose value is not UTF-8: a template cannot have such a key."""
    for key, value in pairs:
        try:
            key.decode(), value.decode()
        except UnicodeDecodeError:
            return key
    return None
