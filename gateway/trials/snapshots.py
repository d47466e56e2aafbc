"""Snapshots of all objects, kept in memory, which tests can restore.

A restore writes only the differences, in as few transactions as etcd allows. Watches see them as events. The server's
own leases and addresses are neither saved nor restored.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from uuid import uuid4

from gateway.controllers import election
from storage.embedded.member import TRANSACTION_OPERATIONS
from storage.errors import TooLarge
from storage.load import load, values_of
from storage.store import EtcdStore
from storage.unowned_objects import Value, Values

TRANSACTION_BYTES = 1_000_000  # etcd's limit is 1.5 MiB
USUAL_OPERATIONS = 128  # etcd's default limit for a transaction
MOST_KEPT = 100
ROUNDS = 5  # the most attempts of a restore, as controllers may still write by the state before it
IDLE_TIMEOUT = 5.0  # seconds of waiting for controllers

Part = tuple[list[tuple[bytes, bytes]], list[bytes]]  # the puts and the deletes of a transaction


class UnknownSnapshot(KeyError):
    """There is no snapshot with that name."""


class TooManySnapshots(Exception):
    """There are MOST_KEPT snapshots; some have to be deleted first."""


class Snapshots:
    """The snapshots of a server. `at_rest` tells whether its controllers have nothing to do."""

    def __init__(self, store: EtcdStore, prefix: str, at_rest: Callable[[], bool]) -> None:
        self._store, self._root, self._at_rest = store, f"{prefix}/".encode(), at_rest
        self._kept: dict[str, Values] = {}
        self._operations = TRANSACTION_OPERATIONS  # the limit of a throw-away server's etcd; lowered if etcd refuses
        self._excluded = tuple(
            self._root + each
            for each in (
                b"masterleases/",
                b"apiserver-gateway/",
                f"leases/{election.NAMESPACE}/{election.NAME}".encode(),
            )
        )

    async def take(self) -> str:
        """Waits until controllers are at rest, saves the state, and returns the snapshot's name.

        Raises StorageError and TooManySnapshots.
        """
        if len(self._kept) >= MOST_KEPT:
            raise TooManySnapshots(f"there are {MOST_KEPT} snapshots already; delete some")
        if not self._at_rest():
            await self._rest()
        name = uuid4().hex
        self._kept[name] = await self._state()
        return name

    async def _state(self) -> Values:
        """All keys with their values and mod revisions, without the excluded ones: from the watch cache if it has
        everything, else from etcd.
        """
        values = values_of(self._store.cache) if await self._store.reads.fresh() else None
        if values is None:
            values = (await load(self._store.client, self._root)).values
        for key in [key for key in values if key.startswith(self._excluded)]:
            del values[key]
        return values

    def forget(self, name: str) -> None:
        """Deletes a snapshot. Raises UnknownSnapshot."""
        if self._kept.pop(name, None) is None:
            raise UnknownSnapshot(name)

    async def restore(self, name: str) -> int:
        """Restores the state, and returns the number of objects that differed. Later reads see it, and restored
        CustomResourceDefinitions are served. Raises UnknownSnapshot and StorageError.
        """
        kept = self._kept.get(name)
        if kept is None:
            raise UnknownSnapshot(name)
        changes = 0
        for _ in range(ROUNDS):
            calm = self._at_rest()  # if not, controllers may still write by the state before
            try:
                changes += await self._write_difference(kept)
            except TooLarge:
                if self._operations == USUAL_OPERATIONS:
                    raise
                self._operations = USUAL_OPERATIONS
                changes += await self._write_difference(kept)
            if calm:
                break
            await self._rest()
        if not self._at_rest():  # until restored CustomResourceDefinitions are served
            await self._rest()
        return changes

    async def _write_difference(self, kept: Values) -> int:
        present = await self._state()
        wanted = {key: _raw(each[0]) for key, each in kept.items() if not _same(each, present.get(key))}
        gone = [key for key in present if key not in kept]
        revision = 0
        for puts, deletes in self._parts(wanted, gone):
            revision = await self._store.write(puts, deletes)
            for key, _ in puts:
                kept[key] = kept[key][0], revision
        await self._store.reads.not_older_than(revision)
        return len(wanted) + len(gone)

    def _parts(self, puts: dict[bytes, bytes], deletes: list[bytes]) -> Iterator[Part]:
        """Splits the changes into transactions: one if possible, so that no client reads an intermediate state."""
        part: Part = ([], [])
        size = count = 0
        for key, value in (*puts.items(), *((key, None) for key in deletes)):
            more = len(key) + len(value or b"") + 32
            if count and (size + more > TRANSACTION_BYTES or count == self._operations):
                yield part
                part, size, count = ([], []), 0, 0
            size, count = size + more, count + 1
            if value is None:
                part[1].append(key)
            else:
                part[0].append((key, value))
        if count:
            yield part

    async def _rest(self) -> None:
        """Waits until controllers are at rest, for IDLE_TIMEOUT seconds at most."""
        deadline = time.monotonic() + IDLE_TIMEOUT
        while True:
            await asyncio.sleep(0.002)
            if self._at_rest() or time.monotonic() > deadline:
                return


def _raw(value: Value) -> bytes:
    """The bytes of a value in etcd."""
    return value if isinstance(value, bytes) else value.stored().raw


def _same(kept: tuple[Value, int], present: tuple[Value, int] | None) -> bool:
    """Whether a key has the same mod revision as in the snapshot, or at least the same value."""
    return present is not None and (kept[1] == present[1] or _raw(kept[0]) == _raw(present[0]))
