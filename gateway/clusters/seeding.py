"""The objects that a control plane begins with, written in few transactions.

They are made once in a process by the usual steps of a write, in a part of etcd that no control plane has. Each control
plane gets a copy, with uids and times of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from gateway.clusters.awake import Awake
from gateway.clusters.definition import MADE
from gateway.clusters.visitors import binding
from gateway.controllers.bootstrap import BootstrapObjects, bootstrap, bootstrap_roles
from gateway.kinds.metadata import now_text
from storage.etcd import EtcdClient
from storage.etcd.operations import delete, mod_revision_is, put
from storage.keys import prefix_end

SCRATCH = "template"
"""The part in which they are made; no uid is equal to it."""

_OPERATIONS = 100  # of a transaction; etcd accepts 128
_UID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(rb"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True)
class Template:
    """The keys below a prefix, and their values."""

    values: Sequence[tuple[bytes, bytes]]

    async def write(self, client: EtcdClient, root: bytes, wrote: Callable[[int], None]) -> int:
        """Writes a copy below a root, unless another process was faster; returns the last revision.

        `wrote` is called with the revision of each transaction. Raises StorageError.
        """
        uids: dict[bytes, bytes] = {}
        now = now_text().encode()

        def other(found: re.Match[bytes]) -> bytes:
            return uids.setdefault(found.group(), str(uuid4()).encode())

        copies = [(root + key, _TIME.sub(now, _UID.sub(other, value))) for key, value in self.values]
        copies.append((root + MADE, b""))
        for start in range(0, len(copies), _OPERATIONS):
            puts = [put(key, value) for key, value in copies[start : start + _OPERATIONS]]
            written = await client.txn([mod_revision_is(root + MADE, 0)], puts)
            if not written.succeeded:
                break
            wrote(written.revision)
        return written.revision


async def is_made(client: EtcdClient, root: bytes) -> bool:
    """Whether a control plane has all objects that it begins with. Raises StorageError."""
    return await client.get(root + MADE) is not None


async def template_of(scratch: Awake) -> Template:
    """Makes the objects in a control plane that nobody uses, and removes them. Raises StorageError, OSError."""
    endpoints, database = scratch.gateway.endpoints, scratch.database
    client, root = database.client, database.cache.root
    await clear(client, root)
    try:
        await scratch.begin()
        await bootstrap(endpoints)
        await bootstrap_roles(endpoints)
        await BootstrapObjects(endpoints).create_missing([binding()])
        await database.store.reads.fresh()
        return Template(
            [
                (entry.key.removeprefix(root), entry.stored().raw)
                for resource in database.cache
                for entry in resource.slice(0, len(resource))
            ]
        )
    finally:
        await scratch.end()
        await clear(client, root)


async def clear_unmade(client: EtcdClient, root: bytes) -> None:
    """Removes what an attempt to write the objects has left; nothing if they are whole. Raises StorageError."""
    await client.txn([mod_revision_is(root + MADE, 0)], [delete(root, prefix_end(root))])


async def clear(client: EtcdClient, root: bytes) -> int:
    """Removes all keys below a root. Returns the revision of that, 0 if there were none. Raises StorageError."""
    answer = await client.delete(root, prefix_end(root))
    return answer.revision if answer.deleted else 0
